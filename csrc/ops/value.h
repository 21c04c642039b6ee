// An argument of an op: a tensor, a number, a list, a dtype … small, and cheap to make and to move.
#pragma once

#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "loops/modular.h"

namespace weft {

enum class Tag : uint8_t { None, Tensor, Int, Float, Bool, Complex, DType, Ints, Tensors, Text, Object };

using TensorList = std::vector<Tensor>;

// Something of the interpreter that an op passes through (a generator, a packed saved tensor).
struct Opaque : Counted {
  virtual ~Opaque() = default;
  void destroy() { delete this; }
};

// A text that copies of a value share, and what its op has made of it, kept for as long as one of them is there.
struct Text : Counted {
  explicit Text(std::string s) : value(std::move(s)) {}
  const std::string value;
  Ref<Opaque> made;
  void destroy() { delete this; }
};

class Value {
 public:
  Value() : tag_(Tag::None), as_{} {}
  Value(Tensor t) : tag_(t ? Tag::Tensor : Tag::None) { as_.tensor = t.release(); }
  Value(bool b) : tag_(Tag::Bool) { as_.integer = b; }
  Value(int i) : tag_(Tag::Int) { as_.integer = i; }
  Value(int64_t i) : tag_(Tag::Int) { as_.integer = i; }
  Value(double d) : tag_(Tag::Float) { as_.real = d; }
  Value(std::complex<double> z) : tag_(Tag::Complex) {
    as_.pair[0] = z.real();
    as_.pair[1] = z.imag();
  }
  Value(DType t) : tag_(Tag::DType) { as_.integer = int64_t(t); }
  Value(Dims d) : tag_(Tag::Ints) { as_.ints = new Dims(std::move(d)); }
  Value(TensorList l) : tag_(Tag::Tensors) { as_.tensors = new TensorList(std::move(l)); }
  Value(std::string s) : tag_(Tag::Text) { as_.text = Ref<Text>(new Text(std::move(s))).release(); }
  Value(const char* s) : Value(std::string(s)) {}
  Value(Ref<Opaque> o) : tag_(o ? Tag::Object : Tag::None) { as_.object = o.release(); }
  Value(const Value& o);
  Value(Value&& o) noexcept : tag_(o.tag_), extra(o.extra), as_(o.as_) { o.tag_ = Tag::None; }
  Value& operator=(Value o) noexcept {
    std::swap(tag_, o.tag_);
    std::swap(extra, o.extra);
    std::swap(as_, o.as_);
    return *this;
  }
  ~Value() {
    if (tag_ == Tag::Tensor || tag_ >= Tag::Ints) drop();
  }

  Tag tag() const { return tag_; }
  bool none() const { return tag_ == Tag::None; }
  bool is_tensor() const { return tag_ == Tag::Tensor; }
  bool is_number() const { return tag_ >= Tag::Int && tag_ <= Tag::Complex; }

  const Tensor& tensor() const { return reinterpret_cast<const Tensor&>(as_.tensor); }
  const TensorList& tensors() const { return *as_.tensors; }
  TensorList& tensors() { return *as_.tensors; }
  int64_t integer() const { return tag_ == Tag::Float ? modular::truncate<int64_t>(as_.real) : as_.integer; }
  double real() const { return tag_ == Tag::Float || tag_ == Tag::Complex ? as_.real : double(as_.integer); }
  bool flag() const { return tag_ == Tag::Float ? as_.real != 0 : as_.integer != 0; }
  std::complex<double> complex() const {
    return tag_ == Tag::Complex ? std::complex<double>(as_.pair[0], as_.pair[1]) : std::complex<double>(real(), 0);
  }
  DType dtype() const { return DType(as_.integer); }
  const Dims& ints() const { return *as_.ints; }
  const std::string& text() const { return as_.text->value; }
  Text& shared_text() const { return *as_.text; }
  Opaque* object() const { return as_.object; }

  // The dtype a number has by itself: bool, int64, the default float or complex type.
  DType number_dtype() const;
  // Writes the number as an element of type t.
  void store(DType t, void* at) const;

 private:
  void drop();
  Tag tag_;

 public:
  uint32_t extra = 0;  // of a tensor kept for backward: its version when it was kept

 private:
  union {
    double pair[2];
    TensorImpl* tensor;
    int64_t integer;
    double real;
    Dims* ints;
    TensorList* tensors;
    Text* text;
    Opaque* object;
  } as_;
};
static_assert(sizeof(Tensor) == sizeof(TensorImpl*));

std::ostream& operator<<(std::ostream& s, const Value& v);

DType default_dtype();  // float32 unless set_default_dtype
void set_default_dtype(DType t);

// Refuses a number that an element of the type cannot hold. As in PyTorch, small negative ones wrap in unsigned types.
void check_fits(const Value& v, DType type, const char* op);

}  // namespace weft
