// x[...] and x[...] = y: what stands in the brackets is read here, and becomes a view, an index op, or both.
#include <algorithm>

#include "bind/args.h"
#include "bind/observer.h"
#include "ops/api.h"

namespace weft {
namespace {

const OpRef view_at{"view_at"}, index_op{"index"}, index_put{"index_put"}, fill{"fill"},
    masked_scatter{"masked_scatter"};

// One thing between the brackets.
struct Item {
  enum Kind : uint8_t { integer, slice, new_dim, ellipsis, tensor, truth } kind;
  int64_t value = 0;           // of an integer; of a truth value, 0 or 1
  PyObject* object = nullptr;  // a slice
  Tensor index;
};

[[noreturn]] void fail_kind(PyObject* o) {
  fail_index("only integers, slices (`:`), ellipsis (`...`), None and long or byte tensors are valid indices (got ",
             Py_TYPE(o)->tp_name, ")");
}

Tensor from_module(const char* function, PyObject* o) {
  nb::object f = nb::module_::import_("weft._C").attr(function);
  nb::object made = std::string_view(function) == "_from_numbers" ? f(nb::handle(o), nb::none()) : f(nb::handle(o));
  return tensor_of(made.ptr());
}

// Whether it is made of Python's own numbers, which say all there is to know of a tensor that is made of them.
bool is_literal(PyObject* o, int depth = 0) {
  if (PyLong_CheckExact(o) || PyBool_Check(o) || PyFloat_CheckExact(o)) return true;
  if (depth > kDeepest || (!PyList_CheckExact(o) && !PyTuple_CheckExact(o))) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
    if (!is_literal(PySequence_Fast_GET_ITEM(o, i), depth + 1)) return false;
  return true;
}

// A list of numbers. Floats are cut to integers and an empty list is one of integers, as in PyTorch.
Tensor from_sequence(PyObject* o) {
  nb::object items = items_of(o);
  Tensor t = from_module("_from_numbers", items.ptr());
  if (t.dtype() != DType::Bool) t = to_dtype(t, DType::Int64);
  if (t_recorder && is_literal(items.ptr())) t->wrapped_number = true;
  return t;
}

// A NumPy array. Integers of other widths become int64, those that weft lacks included.
Tensor from_array(PyObject* o) {
  nb::object wide;
  if (PyObject_HasAttrString(o, "astype") && nb::cast<std::string>(nb::handle(o).attr("dtype").attr("kind")) == "u" &&
      nb::cast<int>(nb::handle(o).attr("itemsize")) > 1) {
    wide = nb::handle(o).attr("astype")("int64");
    o = wide.ptr();
  }
  Tensor t = from_module("_from_buffer", o);
  bool as_is = t.dtype() == DType::Bool || t.dtype() == DType::UInt8 || !is_integral(t.dtype());
  return as_is ? t : to_dtype(t, DType::Int64);
}

int64_t element_of(const Tensor& t) {
  int64_t v = 0;
  visit(t.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) v = int64_t(*t.data<T>());
  });
  return v;
}

Item item_of(Tensor t) {
  bool mask = t.dtype() == DType::Bool || t.dtype() == DType::UInt8;
  if (t.dim() == 0 && is_integral(t.dtype()) && t_recorder) t_recorder->read("a tensor as an index", t);
  if (t.dim() == 0 && mask) return {Item::truth, element_of(t) != 0, nullptr, {}};
  if (t.dim() == 0 && is_integral(t.dtype())) return {Item::integer, element_of(t), nullptr, {}};
  return {Item::tensor, 0, nullptr, std::move(t)};
}

int64_t index_of(PyObject* o) {
  nb::object i = nb::steal(PyNumber_Index(o));
  if (!i.is_valid()) throw PythonError();
  long long v = PyLong_AsLongLong(i.ptr());
  if (v == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    fail_index("index: an integer that does not fit in 64 bits is out of bounds");
  }
  return v;
}

Item read_item(PyObject* o) {
  if (PyBool_Check(o)) return {Item::truth, o == Py_True, nullptr, {}};
  if (PyLong_Check(o)) return {Item::integer, index_of(o), nullptr, {}};
  if (PySlice_Check(o)) return {Item::slice, 0, o, {}};
  if (o == Py_None) return {Item::new_dim, 0, nullptr, {}};
  if (o == Py_Ellipsis) return {Item::ellipsis, 0, nullptr, {}};
  if (is_tensor(o)) return item_of(tensor_of(o));
  if (PyUnicode_Check(o) || PyBytes_Check(o))
    fail_type("indices must be integers, slices or tensors, not ", Py_TYPE(o)->tp_name);
  if (PyList_Check(o) || PyTuple_Check(o) || PyRange_Check(o)) return item_of(from_sequence(o));
  if (PyObject_CheckBuffer(o)) return item_of(from_array(o));
  if (PyIndex_Check(o)) return {Item::integer, index_of(o), nullptr, {}};
  if (PySequence_Check(o)) return item_of(from_sequence(o));
  fail_kind(o);
}

// A short list with anything but plain numbers in it stands for a tuple, as in PyTorch.
bool list_as_tuple(PyObject* o) {
  if (!PyList_Check(o) || PyList_GET_SIZE(o) >= 32) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i) {
    PyObject* e = PyList_GET_ITEM(o, i);
    if (is_tensor(e) || PyList_Check(e) || PyTuple_Check(e) || PySlice_Check(e) || e == Py_Ellipsis || e == Py_None)
      return true;
  }
  return false;
}

// What the brackets say of x: first a view, then tensors that index it.
struct Brackets {
  Dims spec;           // see view_at
  TensorList indices;  // of the view; empty where nothing is indexed
  bool plain = true;   // the view is all of x

  Brackets(const Tensor& x, PyObject* key) : sizes_(x.sizes()) {
    if (list_as_tuple(key)) {  // a copy: reading an item may run Python code, which could change the list
      tuple_ = nb::steal(PyList_AsTuple(key));
      key = tuple_.ptr();
    }
    bool many = PyTuple_Check(key);
    Py_ssize_t n = many ? PyTuple_GET_SIZE(key) : 1;
    PyObject** items = many ? PySequence_Fast_ITEMS(key) : &key;
    if (!basic(items, n)) general(items, n);
  }

 private:
  const Dims sizes_;
  int dim_ = 0;  // of x
  nb::object tuple_;

  // Only integers and slices, the common case: nothing is read ahead.
  bool basic(PyObject** items, Py_ssize_t n) {
    if (n > sizes_.size()) return false;
    for (Py_ssize_t i = 0; i < n; ++i)
      if (!PySlice_Check(items[i]) && !PyLong_CheckExact(items[i])) return false;
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (PySlice_Check(items[i]))
        add_slice(items[i]);
      else
        add_integer(index_of(items[i]));
    }
    return true;
  }

  void general(PyObject** items, Py_ssize_t n) {
    std::vector<Item> read;
    read.reserve(size_t(n));
    int64_t named = 0;
    for (Py_ssize_t i = 0; i < n; ++i) {
      read.push_back(read_item(items[i]));
      const Item& it = read.back();
      bool mask = it.kind == Item::tensor && (it.index.dtype() == DType::Bool || it.index.dtype() == DType::UInt8);
      if (mask)
        named += it.index.dim();
      else
        named += it.kind == Item::integer || it.kind == Item::slice || it.kind == Item::tensor;
    }
    if (sizes_.empty() && n == 1 && read[0].kind == Item::integer)
      fail_index("invalid index of a 0-dim tensor. Use `tensor.item()` to convert it to a number");
    if (named > sizes_.size()) fail_index("index: too many indices for tensor of dimension ", sizes_.size());
    for (const Item& it : read) {
      switch (it.kind) {
        case Item::integer: add_integer(it.value); break;
        case Item::slice: add_slice(it.object); break;
        case Item::new_dim: add_new(Tensor()); break;
        case Item::truth: add_new(it.value ? zeros({1}, DType::Int64) : zeros({0}, DType::Int64)); break;
        case Item::ellipsis:  // a second one stands for nothing more
          for (int64_t rest = sizes_.size() - named; rest > 0; --rest) add_all();
          named = sizes_.size();
          break;
        case Item::tensor: add_tensor(it.index); break;
      }
    }
    while (!indices.empty() && !indices.back()) indices.pop_back();
  }

  void add(int64_t step, int64_t start, int64_t length) { spec.push(step), spec.push(start), spec.push(length); }
  void shown(Tensor index) { indices.push_back(std::move(index)); }

  void add_integer(int64_t i) {
    int64_t n = sizes_[dim_];
    if (i < -n || i >= n) fail_index("index ", i, " is out of bounds for dimension ", dim_, " with size ", n);
    add(0, i < 0 ? i + n : i, 0);
    plain = false;
    ++dim_;
  }
  void add_slice(PyObject* o) {
    Py_ssize_t start, stop, step;
    auto* s = reinterpret_cast<PySliceObject*>(o);
    if (s->start == Py_None && s->stop == Py_None && s->step == Py_None) return add_all();
    if (PySlice_Unpack(o, &start, &stop, &step) < 0) {
      if (!PyErr_ExceptionMatches(PyExc_ValueError)) throw PythonError();
      PyErr_Clear();
      step = 0;
    }
    if (step <= 0) fail_value("step must be greater than zero");
    Py_ssize_t length = PySlice_AdjustIndices(Py_ssize_t(sizes_[dim_]), &start, &stop, step);
    add(step, start, length);
    plain = plain && length == sizes_[dim_];
    shown({});
    ++dim_;
  }
  void add_all() {
    add(1, 0, sizes_[dim_++]);
    shown({});
  }
  void add_new(Tensor index) {
    add(-1, 0, 0);
    plain = false;
    shown(std::move(index));
  }
  void add_tensor(const Tensor& t) {
    int covers = t.dtype() == DType::Bool || t.dtype() == DType::UInt8 ? t.dim() : 1;
    for (int k = 0; k < covers; ++k) add(1, 0, sizes_[dim_++]);
    shown(t);
  }
};

bool has_indices(const Brackets& b) {
  return std::any_of(b.indices.begin(), b.indices.end(), [](const Tensor& t) { return bool(t); });
}

// The view that the brackets show, before tensors index it.
Tensor show(const Tensor& x, const Brackets& b, bool indexed) {
  if (indexed && b.plain) return x;
  if (b.spec.size() == 3 && b.spec[0] == 0) return select(x, 0, b.spec[1]);
  return view_at(x, b.spec);
}

Tensor get(const Tensor& x, PyObject* key) {
  if (is_tensor(key) && x.dim() && impl_of(key)->sizes.size()) return index_op(x, TensorList{tensor_of(key)});
  Brackets b(x, key);
  bool indexed = has_indices(b);
  Tensor view = show(x, b, indexed);
  return indexed ? index_op(view, std::move(b.indices)) : view;
}

// ---- assignment

Value value_of(const Tensor& x, PyObject* o) {
  Value v;
  if (is_tensor(o)) return Value(tensor_of(o));
  if (PyUnicode_Check(o) || !read_number(o, &v))
    fail_type("can't assign a ", Py_TYPE(o)->tp_name, " to a tensor of ", name_of(x.dtype()));
  if (v.tag() == Tag::Complex && !is_complex(x.dtype()))
    fail("value cannot be converted to type ", name_of(x.dtype()), " without overflow");
  return v;
}

// Leading dimensions of size one that the target lacks don't count.
Tensor without_leading_ones(const Tensor& v, int dims) {
  Dims sizes = v.sizes();
  while (sizes.size() > dims && sizes[0] == 1) sizes.erase(0);
  return sizes.size() == v.dim() ? v : view(v, sizes);
}

// A mask over leading dimensions, as one over all of them.
Tensor whole_mask(const Tensor& mask, const Tensor& x) {
  Dims sizes = mask.sizes();
  while (sizes.size() < x.dim()) sizes.push(1);
  return view(contiguous_of(mask), sizes);
}

bool fits_mask(const Tensor& mask, const Tensor& x) {
  for (int d = 0; d < mask.dim(); ++d)
    if (d >= x.dim() || mask.size(d) != x.size(d)) return false;
  return mask.dtype() == DType::Bool && mask.dim() > 0;
}

void put(const Tensor& shown, TensorList indices, const Value& value) {
  bool single = !value.is_tensor() || value.tensor().numel() == 1;
  if (single && indices.size() == 1 && fits_mask(indices[0], shown)) {
    Tensor mask = whole_mask(indices[0], shown);
    bool alike = !value.is_tensor() || value.tensor().dtype() == shown.dtype();
    if (alike) {
      masked_fill.into(shown, mask,
                       value.is_tensor() && value.tensor().dim() ? Value(view(value.tensor(), Dims())) : value);
      return;
    }
  }
  Tensor v = value.is_tensor() ? value.tensor() : scalar_tensor(value, shown.dtype(), true);
  index_put.into(shown, std::move(indices), v, false);
}

void set(const Tensor& x, PyObject* key, PyObject* object) {
  Value value = value_of(x, object);
  Brackets b(x, key);
  bool indexed = has_indices(b);
  Tensor shown = show(x, b, indexed);
  if (indexed) return put(shown, std::move(b.indices), value);
  if (value.is_tensor())
    copy_.into(shown, without_leading_ones(value.tensor(), shown.dim()));
  else
    fill.into(shown, value);
}

}  // namespace

PyObject* tensor_getitem(PyObject* self, PyObject* key) {
  if (t_observer) [[unlikely]]
    return tell_operator("getitem", {self, key});
  return guarded([&]() -> PyObject* {
    Tensor x = tensor_of(self);
    if (PyLong_CheckExact(key) && x.dim()) return wrap(select(x, 0, index_of(key)));
    return wrap(get(x, key));
  });
}

int tensor_setitem(PyObject* self, PyObject* key, PyObject* value) {
  if (t_observer) [[unlikely]] {
    nb::object done = nb::steal(tell_operator("setitem", {self, key, value}));
    return done.is_valid() ? 0 : -1;
  }
  return guarded_int([&] { set(tensor_of(self), key, value); });
}

void bind_indexing(nb::module_&) {}

}  // namespace weft
