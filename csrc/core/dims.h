// Sizes and strides: a short list of 64-bit integers kept in place up to five, and checked arithmetic on them.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <ostream>
#include <string>

#include "core/error.h"

namespace weft {

// A number that a user, a file or a program gave, or that was computed from one: sizes, strides, offsets, counts,
// paddings. Arithmetic on it that leaves 64 bits is an error, never a wrap. It becomes a plain integer where it is
// stored.
class Size {
 public:
  constexpr Size() = default;
  template <std::integral I>
  constexpr Size(I v) : v_(int64_t(v)) {
    static_assert(sizeof(I) < 8 || std::is_signed_v<I>, "an unsigned number of 64 bits may not fit");
  }
  constexpr operator int64_t() const { return v_; }

  constexpr Size operator-() const { return Size(0) - *this; }
  constexpr Size operator+() const { return *this; }
  Size& operator+=(Size o) { return *this = *this + o; }
  Size& operator-=(Size o) { return *this = *this - o; }
  Size& operator*=(Size o) { return *this = *this * o; }
  Size& operator/=(Size o) { return *this = *this / o; }
  Size& operator++() { return *this += 1; }

  friend constexpr Size operator+(Size a, Size b) {
    int64_t r = 0;
    if (__builtin_add_overflow(a.v_, b.v_, &r)) leaves_64_bits(a.v_, " + ", b.v_);
    return r;
  }
  friend constexpr Size operator-(Size a, Size b) {
    int64_t r = 0;
    if (__builtin_sub_overflow(a.v_, b.v_, &r)) leaves_64_bits(a.v_, " - ", b.v_);
    return r;
  }
  friend constexpr Size operator*(Size a, Size b) {
    int64_t r = 0;
    if (__builtin_mul_overflow(a.v_, b.v_, &r)) leaves_64_bits(a.v_, " * ", b.v_);
    return r;
  }
  friend constexpr Size operator/(Size a, Size b) {
    if (b.v_ == 0 || (b.v_ == -1 && a.v_ == INT64_MIN)) leaves_64_bits(a.v_, " / ", b.v_);
    return a.v_ / b.v_;
  }
  friend constexpr Size operator%(Size a, Size b) {
    if (b.v_ == 0) leaves_64_bits(a.v_, " % ", b.v_);
    return b.v_ == -1 ? 0 : a.v_ % b.v_;
  }

 private:
  [[noreturn, gnu::cold]] static void leaves_64_bits(int64_t a, const char* operation, int64_t b);
  int64_t v_ = 0;
};

// With a plain integer on one side the operation is checked too.
#define WEFT_MIXED(op)                      \
  template <std::integral I>                \
  constexpr Size operator op(Size a, I b) { \
    return a op Size(b);                    \
  }                                         \
  template <std::integral I>                \
  constexpr Size operator op(I a, Size b) { \
    return Size(a) op b;                    \
  }
// clang-format off
WEFT_MIXED(+)
WEFT_MIXED(-)
WEFT_MIXED(*)
WEFT_MIXED(/)
WEFT_MIXED(%)
// clang-format on
#undef WEFT_MIXED
// `n += size` on a plain n would not be: n = n + size is.
template <std::integral I>
I& operator+=(I&, Size) = delete;
template <std::integral I>
I& operator-=(I&, Size) = delete;
template <std::integral I>
I& operator*=(I&, Size) = delete;

class Dims {
 public:
  Dims() = default;
  explicit Dims(int n, int64_t fill = 0) { resize(n, fill); }
  Dims(std::initializer_list<int64_t> v) { assign(v.begin(), int(v.size())); }
  Dims(const int64_t* v, int n) { assign(v, n); }
  Dims(const Dims& o) { assign(o.data(), o.n_); }
  Dims(Dims&& o) noexcept { steal(o); }
  Dims& operator=(const Dims& o) {
    if (this != &o) {
      n_ = 0;
      assign(o.data(), o.n_);
    }
    return *this;
  }
  Dims& operator=(Dims&& o) noexcept {
    if (this != &o) {
      drop();
      steal(o);
    }
    return *this;
  }
  ~Dims() { drop(); }

  int size() const { return n_; }
  bool empty() const { return n_ == 0; }
  int64_t* data() { return cap_ > kInline ? heap_ : local_; }
  const int64_t* data() const { return cap_ > kInline ? heap_ : local_; }
  int64_t& operator[](int i) { return data()[i]; }
  Size operator[](int i) const { return data()[i]; }
  int64_t* begin() { return data(); }
  int64_t* end() { return data() + n_; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + n_; }
  int64_t back() const { return data()[n_ - 1]; }

  void push(int64_t v) {
    reserve(n_ + 1);
    data()[n_++] = v;
  }
  void pop() { --n_; }
  void clear() { n_ = 0; }
  void resize(int n, int64_t fill = 0) {
    reserve(n);
    for (int i = n_; i < n; ++i) data()[i] = fill;
    n_ = n;
  }
  void insert(int at, int64_t v) {
    push(v);
    int64_t* d = data();
    std::memmove(d + at + 1, d + at, sizeof(int64_t) * size_t(n_ - 1 - at));
    d[at] = v;
  }
  void erase(int at) {
    int64_t* d = data();
    std::memmove(d + at, d + at + 1, sizeof(int64_t) * size_t(n_ - 1 - at));
    --n_;
  }
  bool operator==(const Dims& o) const {
    if (n_ != o.n_) return false;
    const int64_t *a = data(), *b = o.data();
    for (int i = 0; i < n_; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }

 private:
  static constexpr int kInline = 5;
  void assign(const int64_t* v, int n) {
    reserve(n);
    int64_t* d = data();
    for (int i = 0; i < n; ++i) d[i] = v[i];
    n_ = n;
  }
  void reserve(int n) {
    if (n <= cap_) return;
    int cap = n < 2 * cap_ ? 2 * cap_ : n;
    auto* p = new int64_t[size_t(cap)];
    std::memcpy(p, data(), sizeof(int64_t) * size_t(n_));
    if (cap_ > kInline) delete[] heap_;
    heap_ = p;
    cap_ = cap;
  }
  void drop() {
    if (cap_ > kInline) {
      delete[] heap_;
      cap_ = kInline;
    }
  }
  void steal(Dims& o) {
    n_ = o.n_;
    cap_ = o.cap_;
    if (cap_ > kInline) {
      heap_ = o.heap_;
      o.cap_ = kInline;
    } else {
      for (int i = 0; i < n_; ++i) local_[i] = o.local_[i];
    }
    o.n_ = 0;
  }

  int n_ = 0, cap_ = kInline;
  union {
    int64_t local_[kInline];
    int64_t* heap_;
  };
};

std::ostream& operator<<(std::ostream& s, const Dims& d);  // [2, 3]
std::string to_string(const Dims& d);

// What holds of every tensor, so that arithmetic on one tensor's numbers, in bytes too, cannot leave 64 bits: it has at
// most 64 dimensions (PyTorch's limit), and no size, stride, offset or product of sizes is beyond 2^56.
constexpr int kMaxRank = 64;
constexpr int64_t kMaxExtent = int64_t(1) << 56;
[[noreturn, gnu::cold]] void refuse_rank(int n);
[[noreturn, gnu::cold]] void refuse_sizes(const Dims& sizes);  // one is negative, or there are too many elements
int64_t extent_of(const Dims& sizes);  // the product of those that are not zero, within these limits
void check_steps(const Dims& strides, int64_t offset);
int64_t numel_of(const Dims& sizes);                      // checked product
int64_t span_of(const Dims& sizes, const Dims& strides);  // elements from the first to the last, both included
Dims contiguous_strides(const Dims& sizes);               // row major
bool is_contiguous(const Dims& sizes, const Dims& strides);
bool is_dense(const Dims& sizes, const Dims& strides);         // no holes, no overlap, in some order of the dimensions
Dims strides_like(const Dims& sizes, const Dims& strides);     // dense strides in the same order of dimensions
bool overlaps_itself(const Dims& sizes, const Dims& strides);  // two indices meet in one place
Dims broadcast(const Dims& a, const Dims& b, const char* op);  // throws, naming op
int wrap_dim(int64_t dim, int n, const char* op);              // negative counts from the end; throws IndexError

}  // namespace weft
