// What a static program does: ops in a row, and the shapes of all values. Once it is finished it never changes, so that
// any number of calls can read it at the same time.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "ops/op.h"

namespace weft {

class Template {
 public:
  Template() = default;
  Template(const Template&) = delete;

  // An argument of an op: plain data, or values of the program by their numbers (-1: none).
  struct Argument {
    Value plain;
    std::vector<int> values;
    enum { data, value, list } kind = data;
  };
  // What several values may look into.
  struct Buffer {
    enum Kind { inside, result, input, constant } kind = inside;
    Ref<Storage> storage;   // of a constant; all others have a stand-in without memory
    int64_t item = 1;       // bytes of the largest elements that are seen there
    int below = -1;         // the buffer in whose place it lies
    bool lendable = false;  // a result that may lie in the arena until the next run
  };
  // A value: a tensor of each instance.
  struct Slot {
    Tensor like;  // its geometry; of a constant the tensor itself
    int buffer;
    bool constant;
  };
  // Values among the arguments of an op.
  struct Operand {
    int argument;
    bool list;
    std::vector<int> slots;
  };
  struct Instruction {
    explicit Instruction(const Op& op) : call(op) {}
    Call call;  // with stand-ins for tensors
    std::vector<Operand> operands;
    std::vector<int> outs;           // slots
    int self = -1;                   // the slot that it changes in place
    bool through_copy = false;       // in place by way of a tensor of its own
    std::vector<int> reads, writes;  // buffers
    std::string line;                // of the user's program that called it
  };
  struct Constant {
    int slot;
    Dims sizes, strides;
    DType type;
  };

  // Whether its shapes follow from those of its arguments, and its memory can be planned.
  static bool can_hold(const Op& op);

  // ---- while it is built: each adds a value and returns its number

  int add_input(const Tensor& like);
  int add_constant(const Tensor& t);
  std::vector<int> add(const Op& op, std::vector<Argument> arguments, bool inplace, bool derivative,
                       const std::string& line);
  void finish(std::vector<int> results, const std::vector<int>& lent);

  // ---- from then on

  bool finished() const { return state_ == State::finished; }
  const std::deque<Instruction>& instructions() const { return instructions_; }
  const std::vector<Buffer>& buffers() const { return buffers_; }
  const std::vector<Slot>& slots() const { return slots_; }
  const Buffer& buffer_of(int slot) const { return buffers_[size_t(slots_[size_t(slot)].buffer)]; }
  const std::vector<int>& inputs() const { return inputs_; }    // slots
  const std::vector<int>& results() const { return results_; }  // slots
  const std::vector<Constant>& constants() const { return constants_; }
  // By result: whether it has memory of its own.
  bool owns(size_t result) const { return buffer_of(results_[result]).kind == Buffer::result; }
  // Whether it changes memory that it was given, or constants.
  bool writes_outside() const { return !written_inputs_.empty() || !written_constants_.empty(); }
  // Whether all that it changes there is not read-only.
  bool may_write(const std::vector<Tensor>& inputs) const;
  // The buffers that an instruction changes.
  std::vector<int> written_by(const Instruction& in) const;

 private:
  enum class State : uint8_t { building, finished, broken };
  void build(State next);
  int add_slot(const Tensor& like, int buffer, bool constant);
  int add_buffer(Buffer::Kind kind, const Ref<Storage>& storage);
  int buffer_of(const Tensor& t) const;
  void read_arguments(Instruction& in, std::vector<Argument>& arguments);
  int add_result(Instruction& in, int number);
  void mark_results(const std::vector<int>& lent);
  void find_overlays();
  void find_outside_writes();

  std::deque<Instruction> instructions_;  // a call stays where it is
  std::vector<Buffer> buffers_;
  std::vector<Slot> slots_;
  std::vector<int> inputs_, results_;
  std::vector<Constant> constants_;
  std::vector<size_t> written_inputs_, written_constants_;  // by place among the inputs; buffers
  std::unordered_map<const Storage*, int> by_storage_;      // while it is built
  State state_ = State::building;
};

}  // namespace weft
