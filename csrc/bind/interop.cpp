// Memory shared with others: the buffer protocol, NumPy and DLPack, without copies.
#include <optional>

#include "bind/args.h"
#include "loops/parallel.h"
#include "ops/api.h"
#include "ops/order.h"
#include "tape/views.h"

namespace weft {
namespace {

// ---- the buffer protocol: memoryview(t), numpy.asarray(t)

constexpr const char* kNotRecorded =
    "Can't export tensors that require gradient: what others compute is not recorded. Use tensor.detach()";

const char* format_of(DType t) {
  static const char* formats[kDTypes] = {"?", "B", "b", "h", "i", "q", "e", nullptr, "f", "d", "Zf", "Zd"};
  return formats[int(t)];
}

// What is shown to others: the memory stays, and does not move, until they let go of it, whatever becomes of the
// tensor.
struct Shown {
  Ref<Storage> storage;
  explicit Shown(TensorImpl& t) : storage(t.storage) { ++storage->shown; }
  ~Shown() {
    --storage->shown;
    ++storage->changes;  // perhaps
  }
};
struct BufferShape {
  Shown shown;
  Py_ssize_t shape[kMaxRank], strides[kMaxRank];
  explicit BufferShape(TensorImpl& t) : shown(t) {}
};

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  return guarded_int([&] {
    TensorImpl& t = *impl_of(self);
    if (t_modes.grad && shows_grad(t)) throw nb::builtin_exception(nb::exception_type::buffer_error, kNotRecorded);
    t.data();  // refuses tensors that have none
    if (!format_of(t.dtype))
      throw nb::builtin_exception(nb::exception_type::buffer_error,
                                  "bfloat16 has no buffer format: convert it to float32 first");
    if ((flags & PyBUF_WRITABLE) && !t.storage->writable)
      throw nb::builtin_exception(nb::exception_type::buffer_error, "the memory is read-only");
    if (!(flags & PyBUF_STRIDES) && !t.contiguous)
      throw nb::builtin_exception(nb::exception_type::buffer_error, "the tensor is not contiguous");
    if (t_recorder) t_recorder->read("numpy() or another look at its memory", Tensor(&t));
    auto* dims = new BufferShape(t);
    for (int i = 0; i < t.sizes.size(); ++i) {
      dims->shape[i] = t.sizes[i];
      dims->strides[i] = t.strides[i] * item_size(t.dtype);
    }
    view->buf = t.data();
    view->obj = self;
    Py_INCREF(self);
    view->len = t.numel * item_size(t.dtype);
    view->itemsize = item_size(t.dtype);
    view->readonly = !t.storage->writable;
    view->ndim = t.sizes.size();
    view->format = flags & PyBUF_FORMAT ? const_cast<char*>(format_of(t.dtype)) : nullptr;
    view->shape = flags & PyBUF_ND ? dims->shape : nullptr;
    view->strides = flags & PyBUF_STRIDES ? dims->strides : nullptr;
    view->suboffsets = nullptr;
    view->internal = dims;
  });
}
void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<BufferShape*>(view->internal); }

DType dtype_of_format(const char* f, Py_ssize_t size) {
  if (!f) return DType::UInt8;
  std::string_view text(f);
  if (!text.empty() && (text[0] == '@' || text[0] == '=' || text[0] == '<')) text.remove_prefix(1);
  if (text == "Zf") return DType::ComplexFloat;
  if (text == "Zd") return DType::ComplexDouble;
  if (text.size() == 1) {
    switch (text[0]) {
      case '?': return DType::Bool;
      case 'B': return DType::UInt8;
      case 'b':
      case 'c': return DType::Int8;
      case 'e': return DType::Half;
      case 'f': return DType::Float;
      case 'd': return DType::Double;
      case 'h':
      case 'i':
      case 'l':
      case 'q': return size == 2 ? DType::Int16 : size == 4 ? DType::Int32 : DType::Int64;
      default: break;
    }
  }
  fail_type("from_numpy: can't convert an array of format '", f,
            "'. The supported types are: float64, float32, float16, complex64, "
            "complex128, int64, int32, int16, int8, uint8 and bool.");
}

Tensor from_buffer(nb::handle o) {
  auto* view = new Py_buffer;
  if (PyObject_GetBuffer(o.ptr(), view, PyBUF_RECORDS_RO) != 0) {
    delete view;
    throw PythonError();
  }
  auto let_go = [](void* p) {
    PyBuffer_Release(static_cast<Py_buffer*>(p));
    delete static_cast<Py_buffer*>(p);
  };
  struct Guard {
    Py_buffer* v;
    void (*f)(void*);
    ~Guard() {
      if (v) f(v);
    }
  } guard{view, let_go};
  DType dtype = dtype_of_format(view->format, view->itemsize);
  Dims sizes, strides;
  for (int i = 0; i < view->ndim; ++i) {
    int64_t stride = view->strides ? view->strides[i] : 0;
    if (stride < 0)
      fail_value(
          "from_numpy: at least one stride in the given numpy array is negative, and tensors with negative strides are "
          "not "
          "supported. Copy the array first: array.copy()");
    if (stride % view->itemsize)
      fail_value(
          "from_numpy: given numpy array strides not a multiple of the element byte size. Copy the numpy array to "
          "reallocate the memory.");
    sizes.push(view->shape[i]);
    strides.push(stride / view->itemsize);
  }
  if (!view->strides) strides = contiguous_strides(sizes);
  int64_t bytes = Size(span_of(sizes, strides)) * view->itemsize;
  Tensor t(TensorImpl::make());
  t->dtype = dtype;
  t->storage = Storage::foreign(view->buf, bytes, view, let_go, !view->readonly);
  guard.v = nullptr;
  t->set_geometry(sizes, strides, 0);
  return t;
}

// Moves the memory of a tensor, and of all its views, into a buffer.
void move_memory(const Tensor& t, nb::handle buffer) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(buffer.ptr(), view.get(), PyBUF_WRITABLE) != 0) throw PythonError();
  auto let_go = [](void* p) {
    PyBuffer_Release(static_cast<Py_buffer*>(p));
    delete static_cast<Py_buffer*>(p);
  };
  try {
    Ref<Storage> storage = t->storage;  // it waits for other threads
    storage->move_to(view->buf, view->len, view.get(), let_go);
  } catch (...) {
    PyBuffer_Release(view.get());
    throw;
  }
  (void)view.release();  // the storage has it now
}

// ---- DLPack (the public ABI, version 0.8 layout)

struct DLDevice {
  int32_t type, id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct DLManaged {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManaged*);
};

DLDataType dl_type(DType t) {
  uint8_t bits = uint8_t(item_size(t) * 8);
  if (t == DType::Bool) return {6, 8, 1};
  if (t == DType::UInt8) return {1, 8, 1};
  if (is_integral(t)) return {0, bits, 1};
  if (t == DType::BFloat16) return {4, 16, 1};
  return {uint8_t(is_complex(t) ? 5 : 2), bits, 1};
}
DType from_dl_type(DLDataType t) {
  for (int i = 0; i < kDTypes; ++i) {
    DLDataType d = dl_type(DType(i));
    if (t.lanes == 1 && d.code == t.code && d.bits == t.bits) return DType(i);
  }
  fail_type("from_dlpack: unsupported element type (code ", int(t.code), ", ", int(t.bits), " bits)");
}

struct DLOwner {
  DLManaged managed;
  Shown shown;
  Dims sizes, strides;
};

nb::object to_dlpack(Tensor t) {
  if (wants_grad(*t.get())) throw nb::builtin_exception(nb::exception_type::buffer_error, kNotRecorded);
  if (!t->storage->writable)
    throw nb::builtin_exception(nb::exception_type::buffer_error,
                                "Can't export read-only memory, which DLPack could not protect: clone() the tensor");
  t.data();  // refuses tensors that have none
  if (t_recorder) t_recorder->read("DLPack", t);
  auto* o = new DLOwner{{}, Shown(*t.get()), t.sizes(), t.strides()};
  o->managed.tensor = {t.data(), {1, 0}, t.dim(), dl_type(t.dtype()), o->sizes.data(), o->strides.data(), 0};
  o->managed.context = o;
  o->managed.deleter = [](DLManaged* m) {
    PyGILState_STATE state = PyGILState_Ensure();
    delete static_cast<DLOwner*>(m->context);
    PyGILState_Release(state);
  };
  PyObject* capsule = PyCapsule_New(&o->managed, "dltensor", [](PyObject* c) {
    if (!PyCapsule_IsValid(c, "dltensor")) return;
    auto* m = static_cast<DLManaged*>(PyCapsule_GetPointer(c, "dltensor"));
    if (m && m->deleter) m->deleter(m);
  });
  return nb::steal(capsule);
}

Tensor from_dlpack(nb::handle capsule) {
  auto* m = static_cast<DLManaged*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (!m) throw PythonError();
  const DLTensor& d = m->tensor;
  if (d.device.type != 1) fail("from_dlpack: the data is on device type ", d.device.type, "; weft has only 'cpu'");
  DType dtype = from_dl_type(d.dtype);
  Dims sizes(d.shape, d.ndim), strides = d.strides ? Dims(d.strides, d.ndim) : contiguous_strides(sizes);
  for (int64_t s : strides)
    if (s < 0) fail_value("from_dlpack: negative strides are not supported");
  extent_of(sizes);  // refused here, while the capsule alone owns the memory
  check_steps(strides, 0);
  int64_t bytes = Size(span_of(sizes, strides)) * item_size(dtype);
  Tensor t(TensorImpl::make());
  t->dtype = dtype;
  t->storage = Storage::foreign(static_cast<char*>(d.data) + d.byte_offset, bytes, m, [](void* p) {
    auto* owner = static_cast<DLManaged*>(p);
    if (owner->deleter) owner->deleter(owner);
  });
  t->set_geometry(sizes, strides, 0);
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  return t;
}

// ---- nested Python numbers

// The dtype that NumPy gave its scalar.
bool read_scalar_dtype(PyObject* o, DType* t) {
  PyTypeObject* type = Py_TYPE(o);
  if (type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type || type == &PyComplex_Type) return false;
  nb::object name = nb::getattr(nb::getattr(o, "dtype", nb::none()), "name", nb::none());
  for (int i = 0; i < kDTypes && !name.is_none(); ++i) {
    *t = DType(i);
    if (nb::cast<std::string>(nb::str(name)) == name_of(*t)) return true;
  }
  return false;
}

// The numbers in nested sequences. Reading one may run Python code, which may change the sequences: so the items of
// each are held before the first is read, and each number is read once, into memory that is the reader's own.
class Numbers {
 public:
  explicit Numbers(PyObject* o) { read(o, 0); }

  Tensor tensor(DType t) const {
    Tensor out = empty(sizes_, t);
    char* at = out.numel() ? out.data() : nullptr;
    for (const Value& v : values_) {
      if (v.tag() == Tag::Complex && !is_complex(t)) fail_type("tensor: can't convert complex to ", name_of(t));
      if (is_integral(t)) check_fits(v, t, "tensor");
      v.store(t, at);
      at += item_size(t);
    }
    return out;
  }
  DType widest() const { return widest_.value_or(default_dtype()); }

 private:
  void read(PyObject* o, int depth) {
    if (PyList_Check(o) || PyTuple_Check(o))
      read_sequence(items_of(o), depth);
    else
      read_number(o, depth);
  }

  void read_sequence(const nb::object& items, int depth) {
    if (depth >= kDeepest) fail_value("tensor: nested deeper than ", kDeepest, " sequences (or one contains itself)");
    Py_ssize_t n = PyTuple_GET_SIZE(items.ptr());
    if (bottom_ >= 0 && depth >= bottom_)
      fail_type("tensor: a sequence of length ", n, " stands beside a number at dim ", depth - 1);
    if (depth == sizes_.size())
      sizes_.push(n);
    else if (sizes_[depth] != n)
      fail_value("tensor: expected sequence of length ", sizes_[depth], " at dim ", depth, " (got ", n, ")");
    for (Py_ssize_t i = 0; i < n; ++i) read(PyTuple_GET_ITEM(items.ptr(), i), depth + 1);
  }

  void read_number(PyObject* o, int depth) {
    if (bottom_ < 0) values_.reserve(size_t(extent_of(sizes_)));  // the shape is known, or it is an error
    bottom_ = depth;
    if (depth < sizes_.size() && depth > 0)
      fail_value("tensor: expected a sequence of length ", sizes_[depth], " at dim ", depth, ", got a single value");
    if (values_.size() % kPatience == kPatience - 1) leave_if_interrupted();
    if (PyFloat_CheckExact(o)) {
      values_.emplace_back(PyFloat_AS_DOUBLE(o));
      return widen(default_dtype());
    }
    Value v;
    DType t;
    if (is_tensor(o)) {
      const TensorImpl& one = *impl_of(o);
      if (one.numel != 1)
        fail_value("tensor: only one element tensors can be converted to Python scalars, got shape ", one.sizes);
      t = one.dtype;
      weft::read_number(nb::steal(wrap_number(t, impl_of(o)->data())).ptr(), &v);
    } else if (PyUnicode_Check(o) || PyBytes_Check(o)) {
      fail_value("tensor: a ", Py_TYPE(o)->tp_name, " is a sequence, but not one of numbers");
    } else if (!weft::read_number(o, &v)) {
      fail("tensor: could not infer the dtype of ", Py_TYPE(o)->tp_name);
    } else if (!read_scalar_dtype(o, &t)) {
      t = v.number_dtype();
    }
    widen(t);
    values_.push_back(std::move(v));
  }

  void widen(DType t) { widest_ = widest_ ? promote(*widest_, t) : t; }

  static constexpr size_t kPatience = 1 << 16;  // numbers between two looks for Ctrl-C
  Dims sizes_;
  std::optional<DType> widest_;
  int bottom_ = -1;  // the depth of the first number, below which there can be no sequence; -1 before that
  std::vector<Value> values_;
};

Tensor from_numbers(nb::handle data, nb::handle dtype) {
  Numbers numbers(data.ptr());
  DType t = numbers.widest();
  if (!dtype.is_none() && !read_dtype(dtype.ptr(), &t))
    fail_type("tensor: dtype must be a dtype, not ", Py_TYPE(dtype.ptr())->tp_name);
  return numbers.tensor(t);
}

// What Python lays out: memory_format= of contiguous().
PyObject* g_format = nullptr;

}  // namespace

Tensor interpreter::in_format(const Tensor& x, Opaque* format) {
  auto* o = dynamic_cast<PyOpaque*>(format);
  nb::object t = nb::steal(wrap(x));
  nb::object made = nb::steal(PyObject_CallFunctionObjArgs(g_format, t.ptr(), o ? o->object : Py_None, nullptr));
  if (!made.is_valid()) throw PythonError();
  return to_tensor(made, "a tensor in this order");
}

void bind_interop(nb::module_& m) {
  TensorType->tp_as_buffer->bf_getbuffer = get_buffer;
  TensorType->tp_as_buffer->bf_releasebuffer = release_buffer;
  m.def("_from_buffer", [](nb::handle o) { return from_buffer(o); });
  m.def("_move_memory", move_memory);
  m.def("_set_in_format", [](nb::object f) { g_format = f.release().ptr(); });
  m.def("_to_dlpack", to_dlpack);
  m.def("_from_dlpack", [](nb::handle o) { return from_dlpack(o); });
  m.def(
      "_from_numbers", [](nb::handle o, nb::handle t) { return from_numbers(o, t); }, nb::arg().none(),
      nb::arg().none());
  m.def("_set_cut", [](Tensor t, std::string what) {
    t->cut = Ref<Cut>(new Cut);
    t->cut->what = std::move(what);
    t->cut->origin = Origin::here();
  });
}

}  // namespace weft
