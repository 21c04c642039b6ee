#include "ops/events.h"

#include <exception>
#include <new>

namespace weft {
namespace {

void write_tensor(std::vector<int64_t>& to, const Tensor& t) {
  if (!t) {
    to.push_back(-1);
    return;
  }
  to.push_back(t.dim());
  to.push_back(int64_t(t.dtype()));
  for (int i = 0; i < t.dim(); ++i) to.push_back(t.size(i));
}

void write_list(std::vector<int64_t>& to, const TensorList& list) {
  to.push_back(-2);
  to.push_back(int64_t(list.size()));
  for (const Tensor& t : list) write_tensor(to, t);
}

// Before the call: a composed op may move its arguments on.
void write_arguments(Recording& r, size_t event, Call& c) {
  if (!r.options().shapes) return;
  std::vector<int64_t>& to = r.new_numbers(event, &Event::shapes);
  to.push_back(c.count);
  for (int i = 0; i < c.count; ++i) {
    Value& v = c.arg(i);
    if (v.tag() == Tag::Tensors)
      write_list(to, v.tensors());
    else
      write_tensor(to, v.is_tensor() ? v.tensor() : Tensor());
  }
}

void write_results(Recording& r, size_t event, Call& c) {
  if (!r.options().shapes) return;
  std::vector<int64_t>& to = r.new_numbers(event, &Event::results);
  to.push_back(c.op.returns_list ? 1 : c.out_count);
  if (c.op.returns_list) return write_list(to, c.list);
  for (int i = 0; i < c.out_count; ++i) write_tensor(to, c.out[i]);
}

void write_name(Recording& r, Event& e, const Call& c) {
  bool changes = c.inplace && !c.op.is(kInplaceOnly);
  const char* key = reinterpret_cast<const char*>(&c.op) + changes;  // two names of one op
  e.name = r.name_of(key, changes ? c.op.base + "_" : c.op.base);
}

void write_line(Recording& r, Event& e, const std::string& line) {
  if (!line.empty() && r.options().origins) e.detail = r.text(line);
}

}  // namespace

void record_calls(bool on) {
  for (Op* op : Registry::get().all()) op->set_recorded(on);
}

void run_recorded(Call& c) {
  record_call(c, [&] { run_call(c); });
}

void record_call(Call& c, const std::function<void()>& run) {
  struct Once {  // the dispatcher does not come here again for this run
    bool& recorded;
    explicit Once(bool& flag) : recorded(flag) { recorded = true; }
    ~Once() { recorded = false; }
  } once(c.recorded);
  Recorded event(EventKind::op);
  event.each([&](Recording& r, Event& e, size_t i) {
    write_name(r, e, c);
    write_arguments(r, i, c);
  });
  event.here();
  try {
    run();
  } catch (...) {
    event.failed();
    throw;
  }
  event.finish();
  event.each([&](Recording& r, Event& e, size_t i) {
    if (c.out_count && c.out[0] && c.out[0]->grad_fn) e.sequence = c.out[0]->grad_fn->sequence;
    write_results(r, i, c);
  });
}

std::vector<Tensor> apply_recorded(Node& node, std::vector<Tensor>&& grads, bool create_graph) {
  Recorded event(EventKind::node);
  event.each([&](Recording& r, Event& e, size_t) {
    e.name = r.text(node.name());
    e.sequence = node.sequence;
  });
  event.at(node.origin);
  try {
    return node.apply(std::move(grads), create_graph);
  } catch (...) {
    event.failed();
    throw;
  }
}

RecordedRange::RecordedRange(const std::string& name, EventKind kind) : event_(kind) {
  event_.each([&](Recording& r, Event& e, size_t) { e.name = r.text(name); });
  event_.here();
}

RecordedInstruction::RecordedInstruction(Call& call, const std::string& line)
    : call_(call), exceptions_(std::uncaught_exceptions()), event_(EventKind::instruction) {
  event_.each([&](Recording& r, Event& e, size_t i) {
    write_name(r, e, call);
    write_line(r, e, line);
    write_arguments(r, i, call);
  });
}

RecordedInstruction::~RecordedInstruction() {
  event_.finish();
  bool failed = std::uncaught_exceptions() > exceptions_;
  if (failed) event_.failed();
  try {
    event_.each([&](Recording& r, Event&, size_t i) {
      if (!failed) write_results(r, i, call_);
    });
  } catch (const std::bad_alloc&) {  // the event has no results
  }
}

void record_instruction(const KernelTime& time, Call& call, const std::string& line) {
  record_past(EventKind::instruction, time.begin, time.end, time.thread, [&](Recording& r, Event& e, size_t i) {
    write_name(r, e, call);
    write_line(r, e, line);
    write_arguments(r, i, call);
    write_results(r, i, call);
  });
}

}  // namespace weft
