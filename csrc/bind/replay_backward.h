// The backward pass of a captured call: one node of the graph, whose derivative is a program too.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "bind/python.h"
#include "exec/program.h"
#include "tape/nodes.h"
#include "tape/walk.h"

namespace weft {

// What a program gives for an edge: a gradient, or a share of one.
struct PartOfGradient {
  int left = -1, right = -1;  // which results of the program; right only of a share, left -1: nothing
  DeferredGrad::Kind kind = DeferredGrad::product;
};

// A set of leaves, or of results, by their numbers.
class Bits {
 public:
  explicit Bits(size_t size = 0) : words_((size + 63) / 64) {}
  explicit Bits(std::string_view bytes) : Bits(8 * bytes.size()) {
    std::memcpy(words_.data(), bytes.data(), bytes.size());
  }
  std::string_view bytes() const { return {reinterpret_cast<const char*>(words_.data()), 8 * words_.size()}; }
  void add(size_t i) { words_[i / 64] |= uint64_t(1) << i % 64; }
  void add(const Bits& o) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= o.words_[i];
  }
  void remove(const Bits& o) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] &= ~o.words_[i];
  }
  bool has(size_t i) const { return words_[i / 64] >> i % 64 & 1; }
  bool any() const {
    return std::any_of(words_.begin(), words_.end(), [](uint64_t w) { return w != 0; });
  }
  bool meets(const Bits& o) const {
    for (size_t i = 0; i < words_.size(); ++i)
      if (words_[i] & o.words_[i]) return true;
    return false;
  }

 private:
  std::vector<uint64_t> words_;
};

// Nodes of the graph that an eager call would leave: all that keep something, and go from the same results to the same
// leaves. A backward pass visits and frees them together.
struct PartOfGraph {
  uint64_t results;  // bit by bit
  Bits leaves;
};

struct ResultInGraph {
  uint64_t others = 0;  // whose gradients go through it, bit by bit
  Bits leaves;          // to which its own goes
};

// How gradients go back if those of some results arrive.
struct BackwardProgram {
  std::shared_ptr<Program> program;       // of these gradients, then of some of what was kept
  std::vector<PartOfGradient> gradients;  // for each edge
  std::vector<size_t> takes;              // which of the kept tensors the program is given
  std::vector<Bits> needs;                // for each kept tensor: the leaves whose gradients depend on it
};

// What the nodes of all calls share.
struct BackwardShared : Counted {
  std::unordered_map<uint64_t, std::shared_ptr<BackwardProgram>>
      programs;                    // by which results have gradients, bit by bit
  std::vector<InputMeta> outputs;  // the results that have gradients
  std::vector<PartOfGraph> parts;
  std::vector<size_t> leaf_of;          // for each edge
  size_t leaves = 0;                    // how many
  std::vector<std::vector<Bits>> uses;  // for each result and kept tensor: the leaves between which it is read
  std::vector<ResultInGraph> results;
  std::vector<Tensor> like;     // for each kept tensor that programs are given: its geometry
  std::vector<Tensor> outside;  // what the call reads that it was not given
  bool stale() const;           // a program must be built anew for other calls
  void destroy() { delete this; }
};

// One call, as its node has to know it. `kept`: what is saved. `leaves`: where each edge leads; to the same one several
// times where several gradients arrive at it, which the walk adds up as it would in an eager call.
struct CompiledCall {
  std::vector<Tensor> inputs, leaves, kept, outputs;
};

// How gradients go back through calls of one kind. `path.build(which, saved)` makes a program (BackwardProgram), given
// what is saved. What is kept: what is saved, then what is watched, which must not change before it is read.
// `path.recompute(inputs)` runs the call eagerly, with its history, and gives its results; neither the inputs nor
// what is outside may have changed.
class CompiledBackward {
 public:
  // `parts` of the graph: results and leaves. `leaves`: how many. `leaf_of`: by edge. `uses`: by result and kept
  // tensor. `results`: for each the others and leaves.
  CompiledBackward(nb::object path, const std::vector<std::pair<uint64_t, nb::bytes>>& parts, size_t leaves,
                   std::vector<size_t> leaf_of, const std::vector<std::vector<nb::bytes>>& uses,
                   const std::vector<std::pair<uint64_t, nb::bytes>>& results, nb::list bases, nb::list watched,
                   nb::list outside);
  // Gives the outputs of a call one node, from which gradients go on to the leaves.
  void record(CompiledCall call);
  PyObject* path() const { return path_.ptr(); }
  void drop_path() { path_ = nb::object(); }

 private:
  nb::object path_;
  Ref<BackwardShared> back_;
  // What a result is a view of: another one, an input or a tensor from outside, or the base of these.
  struct Base {
    int number = 0;
    Tensor outside;
    bool is_view = false, fixed = false;
  };
  void set_bases(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs) const;

  std::vector<Base> bases_;
  std::vector<Tensor> watched_;
};

// A node that stands for a graph that a backward pass has freed.
Ref<Node> spent_node();

}  // namespace weft
