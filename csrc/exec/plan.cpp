#include "exec/plan.h"

#include <algorithm>

namespace weft {

std::vector<LiveRange> live_ranges(const Template& program, const Schedule& schedule) {
  const auto& instructions = program.instructions();
  std::vector<LiveRange> ranges(program.buffers().size(), {int(instructions.size()), 0});
  auto use = [&](int step, int slot) {
    const Template::Instruction& in = instructions[size_t(step)];
    for (const std::vector<int>* used : {&in.reads, &in.writes})
      for (int i : *used) {
        LiveRange& r = ranges[size_t(i)];
        r.first = std::min(r.first, slot), r.last = std::max(r.last, slot);
      }
  };
  if (schedule.slots.empty())
    for (int i = 0; i < int(instructions.size()); ++i) use(i, i);
  for (int slot = 0; slot < int(schedule.slots.size()); ++slot)
    for (int step : schedule.of(slot)) use(step, slot);
  return ranges;
}

Plan::Plan(const Template& program, Schedule chosen, bool lends) : schedule(std::move(chosen)), lends(lends) {
  const auto& buffers = program.buffers();
  size_t steps = program.instructions().size();
  int slots = int(schedule.slots.empty() ? steps : schedule.slots.size());
  std::vector<LiveRange> ranges = live_ranges(program, schedule);
  at.assign(buffers.size(), -1);
  for (size_t i = buffers.size(); i-- > 0;) {  // what lies above another buffer is younger
    const Template::Buffer& b = buffers[i];
    bool lent = lends && b.lendable;
    if (b.below >= 0)
      ranges[size_t(b.below)].last = std::max(ranges[size_t(b.below)].last, ranges[i].last);
    else if (b.kind == Template::Buffer::inside || lent)
      blocks.push_back({int(i), rounded(b.storage->bytes), 0, ranges[i].first, lent ? slots : ranges[i].last});
  }
  bytes = lay_out(blocks);
  for (const Block& p : blocks) at[size_t(p.buffer)] = p.at;
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].below >= 0) at[i] = at[size_t(buffers[i].below)];
  std::vector<std::vector<Loan::Gap>> gaps = gaps_between(blocks, slots, bytes);
  if (schedule.slots.empty()) {
    free = std::move(gaps);
    return;
  }
  free.resize(steps);
  for (int slot = 0; slot < slots; ++slot)
    for (int step : schedule.of(slot)) free[size_t(step)] = gaps[size_t(slot)];
}

}  // namespace weft
