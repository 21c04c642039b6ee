#include "exec/plan.h"

#include <algorithm>

namespace weft {

std::vector<LiveRange> live_ranges(const Template& program, const Schedule& schedule) {
  const auto& instructions = program.instructions();
  std::vector<LiveRange> ranges(program.buffers().size(), {int(instructions.size()), 0});
  auto use = [&](int step, int turn) {
    const Template::Instruction& in = instructions[size_t(step)];
    for (const std::vector<int>* used : {&in.reads, &in.writes})
      for (int i : *used) {
        LiveRange& r = ranges[size_t(i)];
        r.first = std::min(r.first, turn), r.last = std::max(r.last, turn);
      }
  };
  if (schedule.turns.empty())
    for (int i = 0; i < int(instructions.size()); ++i) use(i, i);
  for (int turn = 0; turn < int(schedule.turns.size()); ++turn)
    for (int step : schedule.of(turn)) use(step, turn);
  return ranges;
}

Plan::Plan(const Template& program, Schedule chosen, bool lends) : schedule(std::move(chosen)), lends(lends) {
  const auto& buffers = program.buffers();
  size_t steps = program.instructions().size();
  int turns = int(schedule.turns.empty() ? steps : schedule.turns.size());
  std::vector<LiveRange> ranges = live_ranges(program, schedule);
  at.assign(buffers.size(), -1);
  for (size_t i = buffers.size(); i-- > 0;) {  // what lies above another buffer is younger
    const Template::Buffer& b = buffers[i];
    bool lent = lends && b.lendable;
    if (b.below >= 0)
      ranges[size_t(b.below)].last = std::max(ranges[size_t(b.below)].last, ranges[i].last);
    else if (b.kind == Template::Buffer::inside || lent)
      pieces.push_back({int(i), rounded(b.storage->bytes), 0, ranges[i].first, lent ? turns : ranges[i].last});
  }
  bytes = stack(pieces);
  for (const Piece& p : pieces) at[size_t(p.buffer)] = p.at;
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].below >= 0) at[i] = at[size_t(buffers[i].below)];
  std::vector<std::vector<Loan::Gap>> gaps = gaps_between(pieces, turns, bytes);
  if (schedule.turns.empty()) {
    free = std::move(gaps);
    return;
  }
  free.resize(steps);
  for (int turn = 0; turn < turns; ++turn)
    for (int step : schedule.of(turn)) free[size_t(step)] = gaps[size_t(turn)];
}

}  // namespace weft
