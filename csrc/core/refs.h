// Counted objects. The interpreter lock guards every count: kernels that run without the lock touch raw pointers only.
#pragma once

#include <cstdint>
#include <utility>

namespace weft {

struct Counted {
  uint32_t refs = 0;
};

// Owns one count of T. T has `void destroy()`, called when the last owner lets go.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* p) : p_(p) {
    if (p_) ++p_->refs;
  }
  Ref(const Ref& o) : Ref(o.p_) {}
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() {
    if (p_ && --p_->refs == 0) p_->destroy();
  }

  static Ref adopt(T* p) {
    Ref r;
    r.p_ = p;
    return r;
  }  // takes over a count that p already has
  T* release() { return std::exchange(p_, nullptr); }
  void reset() { Ref().swap(*this); }
  void swap(Ref& o) noexcept { std::swap(p_, o.p_); }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool operator==(const Ref& o) const { return p_ == o.p_; }

 private:
  T* p_ = nullptr;
};

}  // namespace weft
