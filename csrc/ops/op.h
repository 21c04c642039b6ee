// The form of an op: everything weft knows of it, in one place.
//
//   WEFT_OP {
//     .signature = "softmax(Tensor input, int dim, *, dtype? dtype=None) -> Tensor",
//     .doc = "…",
//     .infer = [](Call& c) { … c.give(0, meta(dtype, sizes)); },   // shape rule: looks at metadata only
//     .run = [](Call& c) { … },                                    // writes into the outputs it is given
//     .keeps = keep::y0,                                           // what backward needs
//     .back = [](Grad& d) { d.give(0, …); },                       // derivative, written with ops
//   };
//
// From this follow the function weft.softmax, Tensor.softmax, softmax_ and out= where the traits allow, the
// entry in weft.ops.registry(), the doc page, the name in traces, and the test enumeration.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/value.h"

namespace weft {

struct Op;
class Call;
class Grad;

// What backward needs of the inputs (by position among the tensor arguments) and of the outputs.
namespace keep {
enum : uint32_t {
  nothing = 0,
  x0 = 1,
  x1 = 2,
  x2 = 4,
  x3 = 8,
  x4 = 16,
  x5 = 32,
  inputs = 0xffff,
  y0 = 1u << 16,
  y1 = 1u << 17,
  y2 = 1u << 18,
  outputs = 0xffffu << 16
};
}

enum Trait : uint32_t {
  kPlain = 0,
  kView = 1,                // the result looks into the first input's storage; no run
  kInplace = 2,             // has an in-place twin name_
  kNoFunction = 4,          // only a method
  kNoMethod = 8,            // only a function
  kCreation = 16,           // takes dtype= (or out= for it), device=, layout=, requires_grad=, pin_memory=
  kNoOut = 32,              // no out=
  kOverwrites = 64,         // elementwise: run may write where it reads (in-place needs no temporary)
  kInplaceOnly = 128,       // the signature's name already ends in _: changes its first argument
  kHidden = 256,            // not public: a building block of other ops
  kDynamic = 1024,          // the shape of the result depends on the values: the shape rule reads them
  kRefusesZero = 2048,      // integer division: zeros in the second operand are an error
  kRefusesNegative = 4096,  // whole powers: a negative number as second operand of integers is an error
  kKeepsLock = 512,         // run makes tensors or calls back: the interpreter lock stays held
  kRefusesBool = 8192,      // bool operands are an error: what a user means is another op
  kCastsOut = 16384,        // out= may have a dtype that the result can be cast to; else it must have the result's
  kOutSetsType = 32768,     // out= stands for dtype=: the result is computed in its dtype
  kTakesSparse = 65536,     // the form itself knows sparse inputs; for other ops ops/sparse_ops.cpp does, or nobody
  kBeside = 131072,         // run may happen beside that of another op: it counts no references and cannot fail
  kFromStorage = 262144,    // a view that counts from the beginning of the storage, not of the input
};

// An output that run may write where an input lies: each part of it is written after the same part was read.
struct Overlay {
  int input = -1, output = -1;
};

struct Form {
  std::string_view signature;
  std::string_view doc = {};
  uint32_t traits = kPlain;
  void (*infer)(Call&) = nullptr;
  void (*run)(Call&) = nullptr;
  Overlay overlay = {};                // used by programs, which know that nobody reads the input afterwards
  bool (*any_order)(Call&) = nullptr;  // run takes inputs as they lie, channels last, where this says so: ops/order.h
  bool (*in_steps)(Call&) = nullptr;   // run calls other kernels, and keeps the lock, where this says so
  uint32_t keeps = keep::nothing;
  uint32_t (*keeps_when)(const Op&,
                         uint32_t needs) = nullptr;  // the same, given the inputs (bits) that want a gradient
  bool keeps_place = false;  // of the first input backward needs where its elements lie (Grad::place), not the elements
  void (*back)(Grad&) = nullptr;
  void (*compose)(Call&) = nullptr;     // instead of infer and run: made of other ops, which are recorded in its place
  std::string_view no_derivative = {};  // the reason, when there is no back
  std::string_view aliases = {};        // "absolute, arccos": further names
  const void* row = nullptr;            // the row of a pointwise op
};

enum class Type : uint8_t {
  Tensor,   // a tensor
  Operand,  // a tensor or a number ("Tensor|Scalar")
  Tensors,  // a sequence of tensors
  Scalar,
  Int,
  Float,
  Bool,
  Ints,
  Varargs /* Ints, may be spread over the arguments: "int... size" */,
  DType,
  Text,
  Object
};

const char* name_of(Type t);  // as errors say it

// Which list of weft/amp/lists.py an op is on: what autocast casts its arguments to.
enum class Cast : uint8_t { None, Lower, Float, Widest };

struct Param {
  std::string name;
  Type type;
  bool nullable = false;  // "int? dim": None is allowed
  bool holes = false;     // "Tensor?[] indices": None is allowed in the list
  bool keyword_only = false;
  bool has_default = false;
  Value fallback;
  void* interned = nullptr;  // the name as a Python string, made by bind/
};

struct Op {
  Form form;
  std::string name;  // "max.dim": the part before the dot is what users call
  std::string base;  // "max"
  std::vector<Param> params;
  std::vector<std::string> results;  // names of the outputs; one unnamed: {""}
  bool returns_list = false;         // "-> Tensor[]"
  uint8_t required = 0;
  bool python = false;  // declared from Python
  // Why the dispatcher does something else first: it is composed or on a list of autocast, or is recorded.
  enum : uint8_t { kOtherwise = 1, kRecorded = 2 };
  uint8_t aside = 0;
  Cast cast = Cast::None;
  std::string node_name;  // "MaxBackward0"
  // For ops declared from Python: the forms above with state.
  std::function<void(Call&)> py_infer, py_run;
  std::function<void(Grad&)> py_back;

  // Goes the other way while ops are recorded.
  void set_recorded(bool on) { aside = uint8_t((aside & kOtherwise) | (on ? kRecorded : 0)); }
  void set_cast(Cast list) {
    cast = list;
    aside = uint8_t((aside & kRecorded) | (form.compose || cast != Cast::None ? kOtherwise : 0));
  }
  bool is(Trait t) const { return form.traits & t; }
  bool differentiable() const { return form.back || py_back; }
};

class Registry {
 public:
  static Registry& get();
  Op& add(const Form& form);
  Op* find(std::string_view name);  // "max.dim"
  const std::vector<Op*>& all() const { return ops_; }

 private:
  std::vector<Op*> ops_;
};

struct Register {
  Register(const Form& form) { Registry::get().add(form); }
};
#define WEFT_JOIN2(a, b) a##b
#define WEFT_JOIN(a, b) WEFT_JOIN2(a, b)
#define WEFT_OP static const ::weft::Register WEFT_JOIN(op_, __COUNTER__) = ::weft::Form

constexpr int kMaxArgs = 14, kMaxOut = 8;

// One call of an op on its way through the dispatcher.
class Call {
 public:
  explicit Call(const Op& op) : op(op) {}
  ~Call() {
    for (int i = 0; i < count; ++i) args()[i].~Value();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const Op& op;
  int count = 0;  // arguments given so far
  int out_count = 0;
  Tensor out[kMaxOut];
  TensorList list;              // of ops that return a list
  Tensor* given_out = nullptr;  // out=: results are written into these
  bool inplace = false;         // the first argument is written
  bool recorded = false;        // ops/events.h

  Value* args() { return reinterpret_cast<Value*>(space_); }
  void push(Value v) { new (args() + count++) Value(std::move(v)); }
  void fill_defaults();  // for the parameters that were not given

  Value& arg(int i) { return args()[i]; }
  bool has(int i) { return !arg(i).none(); }
  const Tensor& tensor(int i) { return arg(i).tensor(); }
  const TensorList& tensors(int i) { return arg(i).tensors(); }
  Size integer(int i) { return arg(i).integer(); }
  double real(int i) { return arg(i).real(); }
  bool flag(int i) { return arg(i).flag(); }
  const Dims& ints(int i) { return arg(i).ints(); }
  const std::string& text(int i) { return arg(i).text(); }
  DType dtype_or(int i, DType fallback) { return has(i) ? arg(i).dtype() : fallback; }
  const char* name() const { return op.base.c_str(); }

  void give(int i, Tensor t) {
    out[i] = std::move(t);
    if (out_count <= i) out_count = i + 1;
  }

 private:
  alignas(Value) unsigned char space_[kMaxArgs * sizeof(Value)];
};

// Calls f(position, tensor or null) for every tensor position of the call.
template <class F>
inline int each_input(Call& c, F&& f) {
  int position = 0;
  for (int i = 0; i < c.count; ++i) {
    Value& v = c.arg(i);
    if (v.tag() == Tag::Tensor) {
      f(position++, v.tensor().get());
    } else if (v.tag() == Tag::Tensors) {
      for (const Tensor& t : v.tensors()) f(position++, t.get());
    } else {
      Type type = c.op.params[size_t(i)].type;
      if (type == Type::Tensor || type == Type::Operand) f(position++, static_cast<TensorImpl*>(nullptr));
    }
  }
  return position;
}

// What backward needs of the inputs and outputs of a call, `wanting` of whose inputs (bits) want a gradient.
inline uint32_t keeps_of(const Call& c, uint32_t wanting) {
  return c.op.form.keeps_when ? c.op.form.keeps_when(c.op, wanting) : c.op.form.keeps;
}

void run_call(Call& c);    // the dispatcher: shape rule, allocate, run, record
void infer(Call& c);       // its first part
void run_kernel(Call& c);  // its third part, for a call whose results have their memory
// The same for several that do not depend on each other, at the same time, each on one thread. `times`, one for each of
// them: when they ran.
struct KernelTime {
  int64_t begin = 0, end = 0;
  uint32_t thread = 0;
};
void run_kernels(const std::vector<Call*>& calls, KernelTime* times = nullptr);

// Forwards to the dispatcher from C++: `inline const OpRef mul{"mul"}; Tensor z = mul(x, y);`
class OpRef {
 public:
  constexpr explicit OpRef(const char* name) : name_(name) {}
  const Op& op() const {
    if (!op_) op_ = Registry::get().find(name_);
    if (!op_) fail("no op named ", name_);
    return *op_;
  }
  template <class... A>
  Tensor operator()(A&&... args) const {
    Call c(op());
    (c.push(Value(std::forward<A>(args))), ...);
    c.fill_defaults();
    run_call(c);
    return std::move(c.out[0]);
  }
  // The in-place twin: changes and returns the first argument.
  template <class... A>
  Tensor into(Tensor self, A&&... args) const {
    Call c(op());
    c.inplace = true;
    c.push(self);
    (c.push(Value(std::forward<A>(args))), ...);
    c.fill_defaults();
    run_call(c);
    return self;
  }
  template <class... A>
  TensorList list(A&&... args) const {
    Call c(op());
    (c.push(Value(std::forward<A>(args))), ...);
    c.fill_defaults();
    run_call(c);
    if (op().returns_list) return std::move(c.list);
    return TensorList(c.out, c.out + c.out_count);
  }

 private:
  const char* name_;
  mutable const Op* op_ = nullptr;
};

// Where elements lie in memory.
struct Place {
  Dims sizes, strides;
  int64_t offset = 0;
};

// What a derivative is given, and where it puts its results. Tensor arguments are numbered in the order of
// the signature, 0, 1, …; the elements of a tensor list count one by one.
class OpNode;  // tape/nodes.h, which defines what follows
struct DeferredGrad;
class Grad {
 public:
  Grad(OpNode& node, Grads& incoming, bool create_graph)
      : create_graph(create_graph), node_(node), incoming_(incoming) {}
  const bool create_graph;

  const Tensor& g(int i = 0);  // the gradient of output i; zeros where none arrived
  bool has_g(int i) const { return bool(incoming_[size_t(i)]); }
  Tensor x(int i);                 // a kept input; a number becomes a 0-d tensor
  Tensor y(int i = 0);             // a kept output
  const Value& arg(int i) const;   // an argument by its place in the signature (tensors only if kept)
  const Dims& shape(int i) const;  // of input i (if it wants a gradient)
  Place place() const;             // of input 0 when the call was recorded, for forms that keep it
  DType dtype(int i) const;
  bool needs(int i) const;
  int inputs() const;  // how many tensor inputs
  const Op& op() const;
  // Sets the gradient of input i. Summed down to its shape if it was broadcast, and cast to its dtype.
  void give(int i, Tensor t);
  // The same for the product of a matrix, transposed, with another, and for rows that are added to those that index
  // names. Where several of them come to one leaf, the walk may join them.
  void give_product(int i, const Tensor& transposed, const Tensor& other);
  void give_rows(int i, const Tensor& index, const Tensor& rows);

  Grads results;

 private:
  void give_deferred(int i, const DeferredGrad& deferred);
  OpNode& node_;
  Grads& incoming_;
};

// Per-thread modes.
struct Modes {
  bool grad = true;
  bool inference = false;
  bool anomaly = false;
  bool anomaly_nan = true;
  bool autocast = false;    // ops/autocast.h
  bool learning = false;    // a static program that changes the weights runs: nothing is kept of them
  bool derivative = false;  // one follows although no input says so: its steps stand in the same static program
};
extern thread_local Modes t_modes;

class GradMode {  // for a scope
 public:
  explicit GradMode(bool on) : before_(t_modes.grad) { t_modes.grad = on; }
  ~GradMode() { t_modes.grad = before_; }

 private:
  bool before_;
};

// Watches every call after it ran: how a trace is taken.
struct Recorder {
  bool differentiated = true;  // what is recorded will be differentiated op by op; else its walk back is recorded too
  virtual ~Recorder() = default;
  virtual void record(Call& c) = 0;
  virtual void became(const Tensor& t, const Tensor& view) = 0;  // t took the geometry of a view of itself
  virtual void read(const char* what, const Tensor& t) = 0;      // the program looked at elements: they may steer it
  virtual void lost(const char* what) = 0;                       // something was done that no op stands for
  virtual void hooked() = 0;                                     // a hook of the user's is about to see gradients
  virtual void grad_read(const Tensor& t) = 0;                   // somebody is about to look at t.grad
  virtual void grad_set(const Tensor& t) = 0;                    // t.grad is another tensor now, or none
  virtual void walks() = 0;                                      // a backward pass begins
};
extern thread_local Recorder* t_recorder;

}  // namespace weft
