// Joining tensors and cutting them apart.
#include <algorithm>

#include "loops/copy.h"
#include "ops/index_plan.h"
#include "ops/order.h"
#include "ops/parts.h"
#include "ops/recording.h"
#include "ops/rules.h"

namespace weft {
namespace {

const OpRef join{"join"}, stack{"stack"}, cat{"cat"};

DType joint_dtype(const TensorList& list) {
  // As in arithmetic, 0-d tensors only count if nothing else decides; cat has none, stack has nothing else.
  DType t = list[0].dtype();
  for (const Tensor& x : list) t = promote(t, x.dtype());
  return t;
}

// Joined tensors go where any of them could: another type of out= is a TypeError here.
void check_joint_out(Call& c, DType type) {
  if (c.given_out && !can_cast(type, c.given_out[0].dtype()))
    fail_type(c.name(), "(): tensors of type ", name_of(type), " can't be cast to the type of out=, ",
              name_of(c.given_out[0].dtype()));
}

// Writes the tensors of list side by side: out seen as [rows, bytes of one of each].
void run_join(const Tensor& out, const TensorList& list, const Dims& widths, int dim) {
  bool plain = out.contiguous(), last = !plain && strides_last(out);
  for (const Tensor& x : list) {
    plain = plain && x.contiguous() && x.dtype() == out.dtype();
    last = last && strides_last(x) && x.dtype() == out.dtype();
  }
  if (plain || last) {
    int64_t rows = 1, inner = item_size(out.dtype());
    auto place = [&](int d) { return plain ? d : d == 0 ? 0 : d == 1 ? out.dim() : d - 1; };  // in memory
    for (int d = 0; d < out.dim(); ++d)
      if (d != dim) (place(d) < place(dim) ? rows : inner) *= out.size(d);
    std::vector<JoinPart> parts;
    parts.reserve(list.size());
    for (size_t i = 0; i < list.size(); ++i)
      if (widths[int(i)]) parts.push_back({list[i].data(), widths[int(i)] * inner, widths[int(i)] * inner});
    if (rows && inner && !parts.empty()) index_kernels().join(out.data(), parts.data(), int64_t(parts.size()), rows);
    return;
  }
  Size at = 0;
  for (size_t i = 0; i < list.size(); at += widths[int(i++)]) {
    const Tensor& x = list[i];
    Dims sizes = out.sizes(), strides(out.dim());
    sizes[dim] = widths[int(i)];
    int shift = x.dim() == out.dim() ? 0 : 1;  // stack: x lacks the dimension
    for (int d = 0; d < out.dim(); ++d)
      if (!shift || d != dim) strides[d] = x.stride(d - (shift && d > dim));
    copy_kernels().copy(out.dtype(), out.data() + at * out.stride(dim) * item_size(out.dtype()), out.strides().data(),
                        x.dtype(), x.data(), strides.data(), sizes.data(), out.dim());
  }
}

// The sizes along dim of tensors that agree in all others.
Dims matching_widths(const TensorList& list, int dim) {
  const Tensor& first = list[0];
  Dims widths(int(list.size()));
  for (size_t i = 0; i < list.size(); ++i) {
    const Tensor& t = list[i];
    if (t.dim() != first.dim())
      fail("cat(): Tensors must have same number of dimensions: got ", first.dim(), " and ", t.dim());
    for (int d = 0; d < t.dim(); ++d)
      if (d != dim && t.size(d) != first.size(d))
        fail("cat(): Sizes of tensors must match except in dimension ", dim, ". Expected size ", first.size(d),
             " but got size ", t.size(d), " for tensor number ", i, " in the list; the shapes are ", first.sizes(),
             " and ", t.sizes(), ".");
    widths[int(i)] = t.size(dim);
  }
  return widths;
}

WEFT_OP{
  .signature = "join(Tensor[] tensors, int dim, int[] widths) -> Tensor",
  .doc = "Tensors of the given widths along dim, one after the other.",
  .traits = kHidden,
  .infer =
      [](Call& c) {
        const TensorList& list = c.tensors(0);
        if (list.empty()) refuse(c, 0, "have a tensor");
        Dims sizes = list[0].sizes();
        int dim = expect_axis(c, 1, sizes.size());
        const Dims& widths = c.ints(2);
        bool fits = widths.size() == int(list.size());
        Size width = 0;
        for (int i = 0; fits && i < widths.size(); width += widths[i++]) {
          sizes[dim] = widths[i];
          fits = list[size_t(i)].sizes() == sizes;
        }
        if (!fits) refuse(c, 2, "be ", matching_widths(list, dim));
        sizes[dim] = width;
        bool last = true;
        for (const Tensor& x : list) last = last && strides_last(x);
        c.give(0, last ? meta_last_as(list[0], joint_dtype(list), sizes) : meta(joint_dtype(list), sizes));
      },
  .run = [](Call& c) { run_join(c.out[0], c.tensors(0), c.ints(2), int(c.integer(1))); },
  .back =
      [](Grad& d) {
        Size at = 0;
        int64_t dim = d.arg(1).integer();
        const Dims& widths = d.arg(2).ints();
        for (int i = 0; i < widths.size(); at += widths[i++])
          if (d.needs(i)) d.give(i, slice(d.g(), dim, at, at + widths[i]));
      },
};

// A vector without elements may be joined to anything, as it always could.
bool is_nothing(const Tensor& t) { return t.dim() == 1 && t.size(0) == 0; }

WEFT_OP{
  .signature = "cat(Tensor[] tensors, int dim=0) -> Tensor",
  .doc = R"(Tensors joined along dim, where their sizes may differ.

>>> weft.cat([weft.tensor([1, 2]), weft.tensor([3])])
tensor([1, 2, 3]))",
  .traits = kCastsOut,
  .compose =
      [](Call& c) {
        TensorList& list = c.arg(0).tensors();  // taken over: nobody reads it after this
        if (list.empty()) fail_value("cat(): expected a non-empty list of Tensors");
        for (size_t i = 0; i < list.size(); ++i)
          if (list[i].dim() == 0) fail("cat(): zero-dimensional tensor (at position ", i, ") cannot be concatenated");
        DType type = joint_dtype(list);
        check_joint_out(c, type);
        check_out_apart(c);
        auto rest = std::remove_if(list.begin() + 1, list.end(), is_nothing);
        list.erase(rest, list.end());
        if (list.size() > 1 && is_nothing(list[0])) list.erase(list.begin());
        int dim = wrap_dim(c.integer(1), list[0].dim(), "cat");
        Dims widths = matching_widths(list, dim);
        c.give(0, to_dtype(join(std::move(list), dim, std::move(widths)), type));
      },
  .aliases = "concat, concatenate",
};

WEFT_OP{
  .signature = "stack(Tensor[] tensors, int dim=0) -> Tensor",
  .doc = R"(Tensors of one shape joined along a new dimension.

>>> weft.stack([weft.tensor([1, 2]), weft.tensor([3, 4])])
tensor([[1, 2],
        [3, 4]]))",
  .traits = kCastsOut,
  .infer =
      [](Call& c) {
        const TensorList& list = c.tensors(0);
        if (list.empty()) fail("stack expects a non-empty TensorList");
        for (size_t i = 0; i < list.size(); ++i)
          if (!(list[i].sizes() == list[0].sizes()))
            fail("stack expects each tensor to be equal size, but got ", list[0].sizes(), " at entry 0 and ",
                 list[i].sizes(), " at entry ", i);
        Dims sizes = list[0].sizes();
        sizes.insert(wrap_dim(c.integer(1), list[0].dim() + 1, "stack"), int64_t(list.size()));
        DType type = joint_dtype(list);
        check_joint_out(c, type);
        c.give(0, meta(type, sizes));
      },
  .run =
      [](Call& c) {
        const TensorList& list = c.tensors(0);
        run_join(c.out[0], list, Dims(int(list.size()), 1), wrap_dim(c.integer(1), c.out[0].dim(), "stack"));
      },
  .back =
      [](Grad& d) {
        for (int i = 0; i < d.inputs(); ++i)
          if (d.needs(i)) d.give(i, select(d.g(), d.arg(1).integer(), i));
      },
};

// ---- with at least so many dimensions

Tensor at_least(const Tensor& x, int n) {
  if (x.dim() >= n) return x;
  if (n == 1) return view(x, Dims{1});
  if (n == 2) return x.dim() == 0 ? view(x, Dims{1, 1}) : unsqueeze(x, 0);
  return x.dim() == 0 ? view(x, Dims{1, 1, 1}) : x.dim() == 1 ? unsqueeze(unsqueeze(x, 0), 2) : unsqueeze(x, 2);
}

TensorList all_at_least(Call& c, int n) {
  const TensorList& given = c.tensors(0);
  if (given.empty()) fail(c.name(), " expects a non-empty TensorList");
  TensorList list;
  for (const Tensor& t : given) list.push_back(at_least(t, n));
  return list;
}

WEFT_OP{
  .signature = "hstack(Tensor[] tensors) -> Tensor",
  .doc = R"(Tensors joined side by side: along the second dimension, vectors along their only one.

>>> weft.hstack([weft.tensor([1, 2]), weft.tensor([3])])
tensor([1, 2, 3]))",
  .traits = kCastsOut,
  .compose =
      [](Call& c) {
        TensorList list = all_at_least(c, 1);
        int dim = list[0].dim() == 1 ? 0 : 1;
        c.give(0, cat(std::move(list), dim));
      },
};

WEFT_OP{
  .signature = "vstack(Tensor[] tensors) -> Tensor",
  .doc = R"(Tensors joined one below the other; vectors count as rows.

>>> weft.vstack([weft.tensor([1, 2]), weft.tensor([3, 4])])
tensor([[1, 2],
        [3, 4]]))",
  .traits = kCastsOut,
  .compose = [](Call& c) { c.give(0, cat(all_at_least(c, 2), 0)); },
  .aliases = "row_stack",
};

WEFT_OP{
  .signature = "dstack(Tensor[] tensors) -> Tensor",
  .doc = R"(Tensors joined along the third dimension.

>>> weft.dstack([weft.tensor([1, 2]), weft.tensor([3, 4])]).shape
torch.Size([1, 2, 2]))",
  .traits = kCastsOut,
  .compose = [](Call& c) { c.give(0, cat(all_at_least(c, 3), 2)); },
};

WEFT_OP{
  .signature = "column_stack(Tensor[] tensors) -> Tensor",
  .doc = R"(Tensors joined side by side; vectors count as columns.

>>> weft.column_stack([weft.tensor([1, 2]), weft.tensor([3, 4])])
tensor([[1, 3],
        [2, 4]]))",
  .traits = kCastsOut,
  .compose =
      [](Call& c) {
        TensorList list = all_at_least(c, 1);
        for (Tensor& t : list)
          if (t.dim() == 1) t = unsqueeze(t, 1);
        c.give(0, cat(std::move(list), 1));
      },
};

// ---- cutting

// The node of views that together make up their source: one walk back, however many there are.
class PartsNode final : public Node {
 public:
  static Ref<Node> make(const Tensor& source, uint32_t parts, int dim, Dims widths, const char* name) {
    Edge edge = gradient_edge(*source.get());  // before the node: what leads to it must be older
    char* block = static_cast<char*>(pool_allocate(sizeof(PartsNode) + sizeof(Edge)));
    auto* n = new (block) PartsNode;
    n->edges = reinterpret_cast<Edge*>(block + sizeof(PartsNode));
    n->edge_count = 1;
    new (n->edges) Edge(std::move(edge));
    n->outputs = parts;
    n->by = {dim, std::move(widths)};
    n->sizes_ = source.sizes();
    n->name_ = name;
    n->origin = Origin::here();
    return Ref<Node>(n);
  }

  Parts by;
  std::string name() const override { return name_; }
  size_t bytes() const override { return sizeof(PartsNode) + sizeof(Edge); }
  std::vector<std::pair<std::string, Tensor>> saved() override { return {}; }

  Grads apply(Grads&& grads, bool) override {
    DType type = DType::Float;
    for (const Tensor& g : grads)
      if (g) type = g.dtype();
    for (size_t i = 0; i < grads.size(); ++i) {
      if (grads[i]) continue;
      Dims sizes = sizes_;
      if (by.widths.empty())
        sizes.erase(by.dim);
      else
        sizes[by.dim] = by.widths[int(i)];
      grads[i] = zeros(sizes, type);
    }
    return {by.widths.empty() ? stack(std::move(grads), by.dim) : join(std::move(grads), by.dim, by.widths)};
  }

 private:
  Dims sizes_;
  const char* name_ = "";
};

// Views made by `part(i)` without a history of their own, with one node for all of them.
template <class F>
TensorList cut(const Tensor& x, int64_t parts, int dim, const Dims& widths, const char* name, const F& part) {
  bool apart = t_recorder && t_recorder->differentiated;  // in such a trace each part stands for itself
  bool recording = t_modes.grad && wants_grad(*x.get()) && !apart;
  TensorList list;
  list.reserve(size_t(parts));
  {
    GradMode parts_too(t_modes.grad && apart);
    for (int64_t i = 0; i < parts; ++i) list.push_back(part(i));
  }
  if (!recording || list.empty()) return list;
  Ref<Node> node = PartsNode::make(x, uint32_t(parts), dim, widths, name);
  for (size_t i = 0; i < list.size(); ++i) {
    TensorImpl& t = *list[i].get();
    t.cut = Ref<Cut>();
    t.unrecorded_view = false;
    t.set_history(node, uint32_t(i));
  }
  return list;
}

TensorList split_into(const Tensor& x, int dim, const Dims& widths) {
  Dims starts(widths.size());
  for (int i = 1; i < widths.size(); ++i) starts[i] = starts[i - 1] + widths[i - 1];
  return cut(x, widths.size(), dim, widths, "SplitBackward0",
             [&](int64_t i) { return slice(x, dim, starts[int(i)], starts[int(i)] + widths[int(i)]); });
}

constexpr int64_t kMostParts = int64_t(1) << 26;

void check_parts(int64_t parts, const char* op) {
  if (parts > kMostParts) fail(ErrorKind::Memory, op, ": ", parts, " tensors do not fit in memory");
}

// n cut in pieces of `width`, the last one perhaps shorter; nothing makes one piece of nothing.
Dims equal_widths(int64_t n, int64_t width) {
  check_parts(n / width, "split");
  Dims widths;
  for (int64_t at = 0; at < n; at += width) widths.push(std::min(width, n - at));
  if (widths.empty()) widths.push(0);
  return widths;
}

TensorList split_by_size(const Tensor& x, int64_t width, int64_t along, const char* op) {
  if (x.dim() == 0) fail(op, ": expects at least a 1-dimensional tensor");
  int dim = wrap_dim(along, x.dim(), op);
  if (width < 0) fail(op, ": expects split_size be non-negative, but got split_size=", width);
  if (width == 0 && x.size(dim))
    fail(op, ": split_size can only be 0 if dimension size is 0, but got dimension size of ", x.size(dim));
  return split_into(x, dim, equal_widths(x.size(dim), std::max<int64_t>(width, 1)));
}

TensorList split_by_sizes(const Tensor& x, const Dims& widths, int64_t along, const char* op) {
  if (x.dim() == 0) fail(op, ": expects at least a 1-dimensional tensor");
  int dim = wrap_dim(along, x.dim(), op);
  Size sum = 0;
  for (int64_t n : widths) {
    if (n < 0) fail(op, ": expects split_sizes to have only non-negative entries, but got ", widths);
    sum += n;
  }
  if (sum != x.size(dim))
    fail(op, ": expects split_sizes to sum exactly to ", x.size(dim), " (size of dimension ", dim, "), but got ",
         widths);
  return split_into(x, dim, widths);
}

WEFT_OP{
  .signature = "split(Tensor input, int split_size, int dim=0) -> Tensor[]",
  .doc = R"(input cut along dim into views of split_size (the last may be smaller), or of the sizes in a list.

>>> weft.split(weft.arange(3), 2)
(tensor([0, 1]), tensor([2])))",
  .traits = kNoOut,
  .compose = [](Call& c) { c.list = split_by_size(c.tensor(0), c.integer(1), c.integer(2), "split"); },
  .aliases = "unsafe_split",
};

WEFT_OP{
  .signature = "split.sizes(Tensor input, int[] split_size, int dim=0) -> Tensor[]",
  .doc = "input cut along dim into views of the given sizes.",
  .traits = kNoOut,
  .compose = [](Call& c) { c.list = split_by_sizes(c.tensor(0), c.ints(1), c.integer(2), "split"); },
};

WEFT_OP{
  .signature = "split.sections(Tensor tensor, int split_size_or_sections, int dim=0) -> Tensor[]",
  .doc = "The same, under the function's names of its arguments.",
  .traits = kNoOut | kNoMethod,
  .compose = [](Call& c) { c.list = split_by_size(c.tensor(0), c.integer(1), c.integer(2), "split"); },
};

WEFT_OP{
  .signature = "split.section_sizes(Tensor tensor, int[] split_size_or_sections, int dim=0) -> Tensor[]",
  .doc = "The same, under the function's names of its arguments.",
  .traits = kNoOut | kNoMethod,
  .compose = [](Call& c) { c.list = split_by_sizes(c.tensor(0), c.ints(1), c.integer(2), "split"); },
};

WEFT_OP{
  .signature = "split_with_sizes(Tensor input, int[] split_sizes, int dim=0) -> Tensor[]",
  .doc = R"(input cut along dim into views of the given sizes.

>>> weft.split_with_sizes(weft.arange(3), [1, 2])
(tensor([0]), tensor([1, 2])))",
  .traits = kNoOut,
  .compose = [](Call& c) { c.list = split_by_sizes(c.tensor(0), c.ints(1), c.integer(2), "split_with_sizes"); },
  .aliases = "unsafe_split_with_sizes",
};

WEFT_OP{
  .signature = "chunk(Tensor input, int chunks, int dim=0) -> Tensor[]",
  .doc = R"(input cut along dim into at most that many views of equal size, the last perhaps smaller.

>>> weft.chunk(weft.arange(3), 2)
(tensor([0, 1]), tensor([2])))",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        if (x.dim() == 0) fail("chunk expects at least a 1-dimensional tensor");
        Size chunks = c.integer(1);
        if (chunks <= 0) fail("chunk expects `chunks` to be greater than 0, got: ", chunks);
        int dim = wrap_dim(c.integer(2), x.dim(), "chunk");
        if (x.size(dim) == 0) check_parts(chunks, "chunk");
        int64_t n = x.size(dim), width = n / chunks + (n % chunks != 0);
        c.list = split_into(x, dim, n ? equal_widths(n, width) : Dims(int(chunks), 0));
      },
  .aliases = "unsafe_chunk",
};

// ---- cut at given places, or as evenly as possible

TensorList tensor_split(const Tensor& x, int64_t sections, int dim, const char* op) {
  if (sections <= 0) fail(op, ": number of sections must be larger than 0, got ", sections);
  check_parts(sections, op);
  int64_t n = x.size(dim);
  Dims widths;
  for (int64_t i = 0; i < sections; ++i) widths.push(n / sections + (i < n % sections));
  return split_into(x, dim, widths);
}

// Cuts may lie anywhere, also out of order: then the parts are plain slices, and each has its own way back.
TensorList tensor_split(const Tensor& x, const Dims& cuts, int dim) {
  int64_t n = x.size(dim), last = 0;
  bool in_order = true;
  Dims widths;
  for (int i = 0; i <= cuts.size(); ++i) {
    Size to = i < cuts.size() ? cuts[i] : Size(n);
    to = std::clamp<int64_t>(to < 0 ? to + n : to, 0, n);
    in_order = in_order && to >= last;
    widths.push(to - last);
    last = to;
  }
  if (in_order) return split_into(x, dim, widths);
  TensorList list;
  for (int i = 0; i <= cuts.size(); ++i)
    list.push_back(slice(x, dim, i ? Value(cuts[i - 1]) : Value(0), i < cuts.size() ? Value(cuts[i]) : Value(n)));
  return list;
}

void compose_tensor_split(Call& c, int dim) {
  const Tensor& x = c.tensor(0);
  const Value& v = c.arg(1);
  if (v.tag() == Tag::Ints)
    c.list = tensor_split(x, v.ints(), dim);
  else
    c.list = tensor_split(x, v.integer(), dim, c.name());
}

void along_given(Call& c) {
  if (c.tensor(0).dim() == 0)
    fail("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  compose_tensor_split(c, wrap_dim(c.integer(2), c.tensor(0).dim(), "tensor_split"));
}

// hsplit, vsplit and dsplit: the sections must be equal.
void along_fixed(Call& c, int least, int dim) {
  const Tensor& x = c.tensor(0);
  if (x.dim() < least)
    fail(c.name(), " requires a tensor with at least ", least, " dimension(s), but got a tensor with ", x.dim(),
         " dimensions!");
  if (c.arg(1).tag() != Tag::Ints) {
    Size sections = c.integer(1);
    if (sections <= 0 || x.size(dim) % sections)
      fail(c.name(), " attempted to split along dimension ", dim, ", but the size of the dimension ", x.size(dim),
           " is not divisible by the split_size ", sections, "!");
  }
  compose_tensor_split(c, dim);
}
void along_columns(Call& c) { along_fixed(c, 1, c.tensor(0).dim() == 1 ? 0 : 1); }
void along_rows(Call& c) { along_fixed(c, 2, 0); }
void along_depth(Call& c) { along_fixed(c, 3, 2); }

// Comes first, since a tensor of one element would also do for an int.
WEFT_OP{
  .signature = "tensor_split.tensor(Tensor input, Tensor tensor_indices_or_sections, int dim=0) -> Tensor[]",
  .doc = "input cut along dim as a tensor of integers says.",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        static const OpRef by_number{"tensor_split"}, by_indices{"tensor_split.indices"};
        const Tensor& where = c.tensor(1);
        if (where.dtype() != DType::Int64)
          fail("tensor_split expected tensor_indices_or_sections to have dtype of long, but got ",
               name_of(where.dtype()));
        if (where.dim() > 1)
          fail(
              "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, "
              "but got a tensor with ",
              where.dim(), " dims");
        if (t_recorder) t_recorder->read("tensor_split() at places in a tensor", where);
        Tensor ordered = contiguous_of(where);
        if (where.dim() == 0)
          c.list = by_number.list(c.tensor(0), ordered.data<int64_t>()[0], c.arg(2));
        else
          c.list = by_indices.list(c.tensor(0), Dims(ordered.data<int64_t>(), int(ordered.numel())), c.arg(2));
      },
};

WEFT_OP{
  .signature = "tensor_split(Tensor input, int sections, int dim=0) -> Tensor[]",
  .doc = R"(input cut along dim into that many views, as equal as possible, or at the given indices.

>>> weft.tensor_split(weft.arange(3), 2)
(tensor([0, 1]), tensor([2])))",
  .traits = kNoOut,
  .compose = along_given,
};

WEFT_OP{
  .signature = "tensor_split.indices(Tensor input, int[] indices, int dim=0) -> Tensor[]",
  .doc = "input cut along dim at the given indices.",
  .traits = kNoOut,
  .compose = along_given,
};

WEFT_OP{
  .signature = "hsplit(Tensor input, int sections) -> Tensor[]",
  .doc = R"(input cut into columns: into equal sections, or at the given indices.

>>> weft.hsplit(weft.arange(4), 2)
(tensor([0, 1]), tensor([2, 3])))",
  .traits = kNoOut,
  .compose = along_columns,
};
WEFT_OP{
  .signature = "hsplit.indices(Tensor input, int[] indices) -> Tensor[]",
  .doc = "input cut into columns at the given indices.",
  .traits = kNoOut,
  .compose = along_columns,
};
WEFT_OP{
  .signature = "vsplit(Tensor input, int sections) -> Tensor[]",
  .doc = R"(input cut into rows: into equal sections, or at the given indices.

>>> weft.vsplit(weft.arange(4).view(2, 2), 2)
(tensor([[0, 1]]), tensor([[2, 3]])))",
  .traits = kNoOut,
  .compose = along_rows,
};
WEFT_OP{
  .signature = "vsplit.indices(Tensor input, int[] indices) -> Tensor[]",
  .doc = "input cut into rows at the given indices.",
  .traits = kNoOut,
  .compose = along_rows,
};
WEFT_OP{
  .signature = "dsplit(Tensor input, int sections) -> Tensor[]",
  .doc = R"(input cut along the third dimension: into equal sections, or at the given indices.

>>> [part.shape for part in weft.dsplit(weft.ones(1, 2, 4), 2)]
[torch.Size([1, 2, 2]), torch.Size([1, 2, 2])])",
  .traits = kNoOut,
  .compose = along_depth,
};
WEFT_OP{
  .signature = "dsplit.indices(Tensor input, int[] indices) -> Tensor[]",
  .doc = "input cut along the third dimension at the given indices.",
  .traits = kNoOut,
  .compose = along_depth,
};

WEFT_OP{
  .signature = "unbind(Tensor input, int dim=0) -> Tensor[]",
  .doc = R"(The slices of input along dim, which goes away.

>>> weft.unbind(weft.tensor([1, 2]))
(tensor(1), tensor(2)))",
  .traits = kNoOut,
  .compose =
      [](Call& c) {
        const Tensor& x = c.tensor(0);
        int dim = wrap_dim(c.integer(1), x.dim(), "unbind");
        if (x.dim() == 0) fail_index("unbind: Dimension specified as ", c.integer(1), " but tensor has no dimensions");
        check_parts(x.size(dim), "unbind");
        c.list = cut(x, x.size(dim), dim, Dims(), "UnbindBackward0", [&](int64_t i) { return select(x, dim, i); });
      },
};

}  // namespace

const Parts* parts_of(const Node& n) {
  auto* cut = dynamic_cast<const PartsNode*>(&n);
  return cut ? &cut->by : nullptr;
}
}  // namespace weft
