// What ops and their dispatcher ask of the tape. It lies above them and defines these functions (tape/record.cpp,
// tape/views.cpp, tape/backward.cpp): includes point down the layers, and the linker joins the two.
#pragma once

#include "ops/op.h"

namespace weft {

// ---- the history of a tensor
bool wants_grad(TensorImpl& t);     // whether a gradient flows to it; looks through views whose base changed
Edge gradient_edge(TensorImpl& t);  // where its gradient flows

// ---- a call. `wanting` has one bit for each tensor input that wants a gradient.
// The node of a call, and what it keeps of the inputs; `original_self` is the changed tensor of an in-place call before
// the change, where the derivative needs it.
Ref<Node> record_inputs(Call& c, uint32_t wanting, int inputs, const Tensor& original_self);
void record_outputs(Ref<Node> node, Call& c, uint32_t wanting);  // what it keeps of the results, and their history
void note_cut(Call& c, uint32_t wanting);  // remembers why the results have no history although an input had one

// ---- in-place changes
void check_inplace(const Tensor& self, const char* op);  // leaf, view and inference rules
void check_rebase(const Tensor& self, bool by_others);   // can a change of self be recorded? (others: with a gradient)

// Set while a gradient is added to a leaf: the interpreter lock stays held, so that threads add one after the other.
extern thread_local bool t_keeps_lock;

// The gradients of outputs by inputs; empty where none flowed.
std::vector<Tensor> gradients_of(const TensorList& outputs, const TensorList& grads, const TensorList& inputs,
                                 bool create_graph);

}  // namespace weft
