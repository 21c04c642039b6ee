// Static programs (csrc/exec) as Python builds and runs them: weft/jit/graph.py.
#include "exec/program.h"
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bind/args.h"
#include "exec/memory_planner.h"

namespace weft {
namespace {

// An argument as Python gives it: `where` is None for plain data, a number for a value, a list of them for several.
Program::Argument argument(const Param& param, nb::handle plain, nb::handle where) {
  Program::Argument a;
  if (where.is_none()) {
    a.plain = value_from(param, plain.ptr());
  } else if (nb::isinstance<nb::list>(where)) {
    a.kind = Program::Argument::list;
    for (nb::handle v : where) a.values.push_back(nb::cast<int>(v));
  } else {
    a.kind = Program::Argument::value;
    a.values.push_back(nb::cast<int>(where));
  }
  return a;
}

std::vector<int> add(Program& p, const std::string& name, nb::tuple plain, nb::tuple where, bool inplace,
                     bool derivative, const std::string& line) {
  Op* op = Registry::get().find(name);
  if (!op) fail("there is no op named '", name, "'");
  if (nb::len(plain) > op->params.size()) fail_type(name, ": takes ", op->params.size(), " arguments");
  std::vector<Program::Argument> arguments;
  for (size_t i = 0; i < nb::len(plain); ++i) arguments.push_back(argument(op->params[i], plain[i], where[i]));
  return p.add(*op, std::move(arguments), inplace, derivative, line);
}

using Numbers = std::vector<std::tuple<int, int, double>>;  // op, argument, and what that is in this run

// None where it does not take them.
nb::object run(Program& p, nb::tuple inputs, const Numbers& numbers) {
  std::vector<Tensor> given;
  for (nb::handle t : inputs) {
    if (!is_tensor(t.ptr())) return nb::none();
    given.push_back(tensor_of(t.ptr()));
  }
  p.wait_for_turn();
  if (!p.takes(given)) return nb::none();
  Program::Run run(p);
  for (const auto& [step, argument, number] : numbers) run.set_number(step, argument, number);
  nb::list found;
  for (const Tensor& t : run(given)) found.append(nb::steal(wrap(t)));
  return found;
}

// Which steps would run at the same time: of each (whether it may, after which one, seconds shared, seconds alone).
std::vector<std::vector<int>> slots_of(const std::vector<std::tuple<bool, int, double, double>>& steps, int threads) {
  std::vector<StepTime> times;
  for (const auto& [beside, after, shared, alone] : steps) times.push_back({beside, after, shared, alone});
  Schedule made = concurrent_ops(times, threads);
  std::vector<std::vector<int>> slots;
  for (const Schedule::Slot& t : made.slots)
    slots.emplace_back(made.steps.begin() + t.begin, made.steps.begin() + t.begin + t.count);
  return slots;
}

// Where nothing lies, by step: (begin, bytes); blocks are (bytes, place, first step, last step).
std::vector<std::vector<std::pair<int64_t, int64_t>>> gaps_of(
    const std::vector<std::tuple<int64_t, int64_t, int, int>>& given, int steps, int64_t total) {
  std::vector<Block> blocks;
  for (const auto& [bytes, at, first, last] : given) blocks.push_back({0, bytes, at, first, last});
  std::vector<std::vector<std::pair<int64_t, int64_t>>> all;
  for (const auto& gaps : gaps_between(blocks, steps, total)) {
    all.emplace_back();
    for (const Loan::Gap& g : gaps) all.back().push_back({g.begin, g.bytes});
  }
  return all;
}

// Places for blocks, (bytes, first step, last step), how many bytes they take together, and how many any places would.
// `way`: in this order, by comparing all ("few") or not ("many"); else as programs do it.
std::tuple<std::vector<int64_t>, int64_t, int64_t> laid_out(const std::vector<std::tuple<int64_t, int, int>>& given,
                                                            const std::string& way) {
  std::vector<Block> blocks;
  for (const auto& [bytes, first, last] : given) {
    if (bytes < 0 || first < 0 || last < 0) fail_value("_laid_out: expected no negative numbers");
    blocks.push_back({int(blocks.size()), bytes, 0, first, last});
  }
  int64_t total = way == "few" ? lay_out_few(blocks) : way == "many" ? lay_out_many(blocks) : lay_out(blocks);
  std::vector<int64_t> at(given.size());
  for (const Block& p : blocks) at[size_t(p.buffer)] = p.at;
  return {at, total, most_in_use(blocks)};
}

std::vector<std::tuple<int64_t, int64_t, int, int>> layout_of(const Program& p) {
  std::vector<std::tuple<int64_t, int64_t, int, int>> found;
  if (p.plan())
    for (const Block& block : p.plan()->blocks) found.push_back({block.bytes, block.at, block.first, block.last});
  return found;
}

}  // namespace

void bind_program(nb::module_& m) {
  m.def("_concurrent_ops", slots_of);
  m.def("_gaps_between", gaps_of);
  m.def("_laid_out", laid_out, nb::arg("blocks"), nb::arg("way") = "");
  nb::class_<Program>(m, "Program", "Ops in a row whose shapes and memory are settled before they run.")
      .def(nb::init<>())
      .def("add_input", &Program::add_input, "Adds an input of the geometry of a tensor; returns its number.")
      .def("add_constant", &Program::add_constant, "Adds a tensor that is there; returns its number.")
      .def("add", add, nb::arg("op"), nb::arg("plain"), nb::arg("where"), nb::arg("inplace"), nb::arg("derivative"),
           nb::arg("line") = "", "Adds an op; returns the numbers of its results.")
      .def("finish", &Program::finish, nb::arg("results"), nb::arg("lent") = std::vector<int>(),
           "Says which values are results, and lays out memory.")
      .def("set_learning", &Program::set_learning, "Says that its weights change from run to run.")
      .def("run", run, nb::arg("inputs"), nb::arg("numbers") = Numbers(),
           "Runs it; None, having done nothing, where it does not take these inputs now.")
      .def_prop_ro("instances", &Program::instances, "How many calls it has memory for.")
      .def_prop_ro("layout", layout_of, "What lies in its memory: (bytes, place, first step, last step).")
      .def_prop_ro("stale", &Program::stale, "Whether a constant has got other memory since.")
      .def("spread", &Program::spread, "Lets as many ops as can run at the same time, quicker or not: for tests.")
      .def_prop_ro("concurrent_ops", &Program::concurrent_ops, "How many of its ops run at the same time as another.")
      .def_prop_ro("arena_bytes", &Program::arena_bytes, "The memory of all that stays inside.");
}

}  // namespace weft
