#include "core/event_log.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>

#include "core/error.h"
#include "core/fork.h"

namespace weft {

int g_recordings = 0;

namespace {

Recording* g_on[Recording::kMost];
uint64_t g_last_run = 0;
constexpr size_t kDeepestStack = 128;

// What a thread has under way, by the place of the recording.
struct Open {
  uint64_t run = 0;
  int32_t event = -1;
  bool skipping = false;
};
struct ThreadState {
  Open open[Recording::kMost];
  int64_t allocated = 0, freed = 0;
};
thread_local ThreadState t_state;

bool is_op(EventKind kind) { return kind != EventKind::range && kind != EventKind::program; }

void count_recordings() {
  int count = int(std::count_if(std::begin(g_on), std::end(g_on), [](Recording* r) { return r != nullptr; }));
  bool before = g_recordings > 0, now = count > 0;
  g_recordings = count;
  if (before == now) return;
  report_memory(now);
  record_calls(now);
}

// A child records nothing: whoever reads the recording is in the parent.
void stop_in_child() {
  for (Recording* r : g_on)
    if (r) r->stop();
}
const bool g_at_fork = (in_child(stop_in_child), true);

}  // namespace

int64_t recorder_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

uint32_t thread_number() {
  static std::atomic<uint32_t> last{0};
  thread_local uint32_t mine = ++last;
  return mine;
}

Recording::Recording(const RecordingOptions& options) : options_(options) {}
Recording::~Recording() { stop(); }

void Recording::start() {
  stop();
  auto free = std::find(std::begin(g_on), std::end(g_on), nullptr);
  if (free == std::end(g_on)) fail("at most ", kMost, " recordings can be on at the same time");
  chunks_.clear(), memory_.clear(), origins_.clear(), origin_numbers_.clear(), frames_.clear(), frame_numbers_.clear();
  texts_.assign(1, ""), text_numbers_.clear(), key_numbers_.clear();
  origins_.resize(1), frames_.resize(1);  // number 0: not known
  size_ = 0, dropped_ = 0, roots_ = 0;
  *free = this;
  slot_ = int(free - std::begin(g_on));
  run_ = ++g_last_run;
  count_recordings();
  began_ = recorder_clock();
}

void Recording::stop() {
  if (!on()) return;
  stopped_ = recorder_clock();
  g_on[slot_] = nullptr;
  slot_ = -1;
  count_recordings();
  for (size_t i = 0; i < size_; ++i)
    if (Event& e = at(i); !e.end) {
      e.end = stopped_;
      e.unfinished = true;
      e.allocated = e.freed = 0;  // its thread knows
    }
}

int32_t Recording::add(EventKind kind, int32_t parent) {
  if (size_ >= options_.limit) {
    ++dropped_;
    return -1;
  }
  if (size_ == chunks_.size() * kChunk) chunks_.push_back(std::make_unique<Chunk>());
  Event& e = at(size_);
  e.kind = kind;
  e.parent = parent;
  e.thread = thread_number();
  return int32_t(size_++);
}

uint32_t Recording::text(const std::string& text) {
  auto [it, added] = text_numbers_.try_emplace(text, uint32_t(texts_.size()));
  if (added) texts_.push_back(text);
  return it->second;
}

uint32_t Recording::name_of(const void* key, const std::string& text) {
  auto [it, added] = key_numbers_.try_emplace(key, 0);
  if (added) it->second = this->text(text);
  return it->second;
}

uint32_t Recording::origin(const Origin& origin) {
  if (!origin && !origin.module()) return 0;
  Key key{origin.code(), origin.instruction(), origin.module()};
  auto [it, added] = origin_numbers_.try_emplace(key, uint32_t(origins_.size()));
  if (added) origins_.push_back(Origin::of(key.code, key.instruction, key.more));
  return it->second;
}

uint32_t Recording::stack() {
  struct Line {
    void* code;
    int32_t instruction;
  };
  std::vector<Line> lines;
  auto add_line = [](void* to, void* code, int32_t instruction) {
    static_cast<std::vector<Line>*>(to)->push_back({code, instruction});
  };
  interpreter::each_frame(add_line, &lines);
  if (lines.size() > kDeepestStack) lines.resize(kDeepestStack);
  uint32_t frame = 0;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    Key key{line->code, line->instruction, frame};
    auto [it, added] = frame_numbers_.try_emplace(key, uint32_t(frames_.size()));
    if (added) frames_.push_back({frame, Origin::of(line->code, line->instruction, 0)});
    frame = it->second;
  }
  return frame;
}

std::vector<int64_t>& Recording::new_numbers(size_t event, int32_t Event::* place) {
  std::vector<int64_t>& numbers = chunks_[event / kChunk]->numbers;
  at(event).*place = int32_t(numbers.size());
  return numbers;
}

// ---- events

Recording* Recorded::recording(const Slot& s) {
  if (!s.run || s.event < 0) return nullptr;
  Recording* r = g_on[&s - slots_];
  return r && r->run_ == s.run ? r : nullptr;
}

Recorded::Recorded(EventKind kind) {
  for (int i = 0; i < Recording::kMost; ++i) {
    Recording* r = g_on[i];
    if (!r) continue;
    Open& open = t_state.open[i];
    if (open.run != r->run_) open = {r->run_, -1, false};
    if (open.skipping && is_op(kind)) continue;
    while (open.event >= 0 && r->at(size_t(open.event)).end) open.event = r->at(size_t(open.event)).parent;
    bool root = is_op(kind) && (open.event < 0 || !is_op(r->at(size_t(open.event)).kind));
    if (root && r->options_.every > 1 && r->roots_++ % r->options_.every) {
      open.skipping = true;
      slots_[i] = {r->run_, -1, true};
      continue;
    }
    int32_t event = r->add(kind, open.event);
    if (event < 0) continue;
    slots_[i] = {r->run_, event, false};
    open.event = event;
    Event& e = r->at(size_t(event));
    e.allocated = -t_state.allocated, e.freed = -t_state.freed;
    e.begin = recorder_clock();
  }
}

void Recorded::finish() {
  if (std::exchange(over_, true)) return;
  int64_t now = 0;
  for (Slot& s : slots_) {
    if (!s.run) continue;
    Open& open = t_state.open[&s - slots_];
    if (s.skips && open.run == s.run) open.skipping = false;
    Recording* r = recording(s);
    if (!r) continue;
    if (!now) now = recorder_clock();
    Event& e = r->at(size_t(s.event));
    e.end = std::max(now, e.begin + 1);
    e.allocated += t_state.allocated, e.freed += t_state.freed;
    if (e.thread != thread_number()) e.allocated = e.freed = 0;  // a range that another thread closes
    if (open.run == s.run && open.event == s.event) open.event = e.parent;
  }
}

void Recorded::here() {
  bool any = false;
  each([&](Recording&, Event&, size_t) { any = true; });
  if (!any) return;  // left out of what is sampled
  Origin origin = Origin::here();
  at(origin);
  each([](Recording& r, Event& e, size_t) {
    if (r.options().stacks) e.stack = r.stack();
  });
}

void Recorded::at(const Origin& origin) {
  each([&](Recording& r, Event& e, size_t) {
    if (r.options().origins) e.origin = r.origin(origin);
  });
}

void record_past(EventKind kind, int64_t begin, int64_t end, uint32_t thread,
                 const std::function<void(Recording&, Event&, size_t)>& describe) {
  for (int i = 0; i < Recording::kMost; ++i) {
    Recording* r = g_on[i];
    if (!r || t_state.open[i].skipping || begin < r->began()) continue;
    bool mine = thread == thread_number() && t_state.open[i].run == r->run_;
    int32_t event = r->add(kind, mine ? t_state.open[i].event : -1);
    if (event < 0) continue;
    Event& e = r->at(size_t(event));
    e.thread = thread, e.begin = begin, e.end = std::max(end, begin + 1);
    describe(*r, e, size_t(event));
  }
}

void record_memory(const void* address, int64_t bytes, int64_t live) {
  (bytes > 0 ? t_state.allocated : t_state.freed) += bytes > 0 ? bytes : -bytes;
  for (int i = 0; i < Recording::kMost; ++i) {
    Recording* r = g_on[i];
    if (!r || !r->options_.memory) continue;
    if (r->memory_.size() >= r->options_.limit) {
      ++r->dropped_;
      continue;
    }
    const Open& open = t_state.open[i];
    int32_t event = open.run == r->run_ ? open.event : -1;
    try {
      r->memory_.push_back({recorder_clock(), uint64_t(uintptr_t(address)), bytes, live, thread_number(), event});
    } catch (const std::bad_alloc&) {  // a block that is given back must not fail
      ++r->dropped_;
    }
  }
}

}  // namespace weft
