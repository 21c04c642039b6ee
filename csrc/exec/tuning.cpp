#include "exec/tuning.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "loops/parallel.h"

namespace weft {
namespace {

using Buffer = Template::Buffer;
using Clock = std::chrono::steady_clock;
constexpr double kShort = 1.5e-6, kLong = 2e-3;  // seconds: steps that are not worth a second thread, or keep two busy

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

}  // namespace

// For each step, the last one before it that it cannot do without, or that cannot do without what it overwrites. All
// memory from outside is taken for one: inputs and constants may overlap.
void Tuning::start(const Template& program) {
  program_ = &program;
  const auto& buffers = program.buffers();
  const auto& instructions = program.instructions();
  size_t outside = buffers.size();
  auto place = [&](int b) {
    auto kind = buffers[size_t(b)].kind;
    return kind == Buffer::input || kind == Buffer::constant ? outside : size_t(b);
  };
  std::vector<int> wrote(outside + 1, -1), used(outside + 1, -1);
  bool any = false;
  times_.resize(instructions.size());
  channels_last_.assign(buffers.size(), false);
  for (int i = 0; i < int(instructions.size()); ++i) {
    const Template::Instruction& in = instructions[size_t(i)];
    std::vector<int> writes = program.written_by(in);
    for (int w : in.writes)
      if (buffers[size_t(w)].below >= 0) writes.push_back(buffers[size_t(w)].below);
    int& after = times_[size_t(i)].after;
    for (int r : in.reads) after = std::max(after, wrote[place(r)]);
    for (int w : writes) after = std::max(after, used[place(w)]);
    for (int r : in.reads) used[place(r)] = i;
    for (int w : writes) wrote[place(w)] = used[place(w)] = i;
    times_[size_t(i)].concurrent = may_run_concurrently(in);
    any = any || (after < i - 1 && times_[size_t(i)].concurrent);
  }
  settled_ = !any;
  if (!any) settle();
}

// What it writes must be the program's own: where an earlier step fails, nothing of it is to be seen.
bool Tuning::may_run_concurrently(const Template::Instruction& in) const {
  return in.call.op.is(kBeside) && in.self < 0 &&
         std::all_of(
             in.writes.begin(), in.writes.end(),
             [&](int w) {
               auto kind = program_->buffers()[size_t(w)].kind;
               return kind == Buffer::inside || kind == Buffer::result;
             });
}

void Tuning::settle() {
  settled_ = true;
  if (!busy_) std::vector<StepTime>().swap(times_);
}

void Tuning::measure(Instance& instance) {
  struct Busy {
    Tuning& t;
    explicit Busy(Tuning& tuning) : t(tuning) { t.busy_ = true; }
    ~Busy() {
      t.busy_ = false;
      if (t.settled_) t.settle();  // another thread has seen what it cannot run with
    }
  } busy(*this);
  for (int i = 0; i < int(times_.size()); ++i) measure(instance, i);
  ++measured_;
}

void Tuning::measure(Instance& instance, int step) {
  StepTime& t = times_[size_t(step)];
  std::optional<Alone> alone;
  bool one = measured_ >= kShared;
  if (one && t.concurrent && t.shared < kLong) alone.emplace();
  auto begin = Clock::now();
  instance.run_step(step);
  double seconds = since(begin);
  double& least = one ? t.alone : t.shared;
  bool first = measured_ == 0 || measured_ == kShared;
  least = first ? seconds : std::min(least, seconds);
  for (int w : program_->instructions()[size_t(step)].writes)
    if (instance.storage(w).last.channels > 0) channels_last_[size_t(w)] = true;
}

Schedule Tuning::choose() {
  for (size_t i = 0; i < times_.size(); ++i) {
    StepTime& t = times_[i];
    const std::vector<int>& reads = program_->instructions()[i].reads;
    // What reads elements that lie channels last decides how the next find them: it stays where it is.
    bool last = std::any_of(reads.begin(), reads.end(), [&](int r) { return channels_last_[size_t(r)]; });
    t.concurrent = t.concurrent && !last && t.alone > kShort && t.shared < kLong;
  }
  Schedule made = concurrent_ops(times_, num_threads());
  if (made.slots.size() == times_.size()) made = {};
  settle();
  return made;
}

void Tuning::spread() {
  constexpr double kSame = 1e-3;
  if (settled_) return;
  for (StepTime& t : times_) t.shared = t.alone = kSame;
  measured_ = kRuns;
}

}  // namespace weft
