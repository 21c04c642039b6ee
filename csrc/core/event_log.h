// The recorder: which op, node, instruction and range ran when, on which thread, called from which line, and what
// memory it took. The profiler, the memory tools and the live view read it.
//
// A recording belongs to whoever made it; several may be on at once. All of it is guarded by the interpreter's lock,
// which every op holds before and after its kernel: nothing here locks. Events are numbered in the order in which they
// began, and name the event of their thread in which they lie.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/origin.h"

namespace weft {

enum class EventKind : uint8_t {
  op,           // a call that passed the dispatcher
  node,         // a node of the graph that was walked backward
  instruction,  // of a compiled program
  program,      // a run of one
  range,        // what the user, a loader or an optimiser named
};

struct Event {
  int64_t begin = 0, end = 0;        // nanoseconds of the steady clock; end 0: not over yet
  int64_t allocated = 0, freed = 0;  // bytes by its thread meanwhile
  uint64_t sequence = 0;             // of the node that it made or walked; 0: none
  int32_t parent = -1;               // the event of the same thread in which it lies
  uint32_t thread = 0;
  uint32_t name = 0;     // a number of Recording::text
  uint32_t detail = 0;   // the same: arguments of a range, the line of an instruction
  uint32_t origin = 0;   // a number of Recording::origin; 0: not known
  uint32_t stack = 0;    // a number of Recording::frame; 0: not recorded
  int32_t shapes = -1;   // where in Recording::numbers those of the arguments begin; -1: not recorded
  int32_t results = -1;  // the same of the results
  EventKind kind = EventKind::op;
  bool failed = false;      // an exception left it
  bool unfinished = false;  // the recording stopped before it was over
};

// A block of the allocator that was given away, or given back.
struct MemoryEvent {
  int64_t at = 0;  // nanoseconds
  uint64_t address = 0;
  int64_t bytes = 0;  // negative: given back
  int64_t live = 0;   // of all blocks, after it
  uint32_t thread = 0;
  int32_t event = -1;  // the innermost one of its thread
};

struct RecordingOptions {
  bool shapes = false;     // of arguments and results
  bool origins = true;     // the user's line and the module
  bool stacks = false;     // all lines of Python
  bool memory = false;     // each block, not only sums
  uint32_t every = 1;      // of ops that are in no other: the first of so many
  size_t limit = 1000000;  // events, and as many of memory; what comes later is counted only
};

class Recording {
 public:
  static constexpr int kMost = 4;  // that are on at the same time
  struct Frame {
    uint32_t outer;  // 0: none
    Origin at;
  };

  explicit Recording(const RecordingOptions& options);
  ~Recording();
  Recording(const Recording&) = delete;

  void start();  // forgets what was recorded before
  void stop();   // events that are not over end now
  bool on() const { return slot_ >= 0; }
  const RecordingOptions& options() const { return options_; }

  int64_t began() const { return began_; }
  int64_t stopped() const { return stopped_; }
  int64_t dropped() const { return dropped_; }  // events beyond the limit
  size_t size() const { return size_; }
  const Event& event(size_t i) const { return chunks_[i / kChunk]->events[i % kChunk]; }
  // How many arguments or results there are, then of each the rank, or -1 for what is no tensor, or -2 for a list,
  // after which their number stands; of a tensor then the dtype and the sizes.
  const std::vector<int64_t>& numbers(size_t event) const { return chunks_[event / kChunk]->numbers; }
  const std::vector<std::string>& texts() const { return texts_; }
  const std::vector<Origin>& origins() const { return origins_; }
  const std::deque<Frame>& frames() const { return frames_; }
  const std::deque<MemoryEvent>& memory() const { return memory_; }

  // For those who describe an event.
  uint32_t text(const std::string& text);
  uint32_t name_of(const void* key, const std::string& text);  // the same, by a key that always has this text
  uint32_t origin(const Origin& origin);
  uint32_t stack();
  std::vector<int64_t>& new_numbers(size_t event, int32_t Event::* place);

 private:
  friend class Recorded;
  friend void record_past(EventKind, int64_t, int64_t, uint32_t,
                          const std::function<void(Recording&, Event&, size_t)>&);
  friend void record_memory(const void*, int64_t, int64_t);
  static constexpr size_t kChunk = 4096;
  struct Chunk {
    std::vector<Event> events = std::vector<Event>(kChunk);
    std::vector<int64_t> numbers;
  };
  struct Key {
    void* code;
    int32_t instruction;
    uint32_t more;  // the module, or the outer frame
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const {
      return ((size_t(k.code) >> 4) * 31 + size_t(k.instruction)) * 0x9e3779b97f4a7c15ull + k.more;
    }
  };
  Event& at(size_t i) { return chunks_[i / kChunk]->events[i % kChunk]; }
  int32_t add(EventKind kind, int32_t parent);

  RecordingOptions options_;
  uint64_t run_ = 0;  // a number of its own for each start
  int slot_ = -1;
  int64_t began_ = 0, stopped_ = 0, dropped_ = 0;
  size_t size_ = 0;
  uint32_t roots_ = 0;  // ops that are in no other, for `every`
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<std::string> texts_{""};
  std::unordered_map<std::string, uint32_t> text_numbers_;
  std::unordered_map<const void*, uint32_t> key_numbers_;
  std::vector<Origin> origins_;
  std::unordered_map<Key, uint32_t, KeyHash> origin_numbers_, frame_numbers_;
  std::deque<Frame> frames_;
  std::deque<MemoryEvent> memory_;
};

// How many recordings are on.
extern int g_recordings;
inline bool is_recording() { return g_recordings > 0; }

// An event in all recordings that are on, from its beginning until it is destroyed or ended.
class Recorded {
 public:
  explicit Recorded(EventKind kind);
  ~Recorded() { finish(); }
  Recorded(const Recorded&) = delete;
  // Calls f(recording, event, its number) for each recording that has it.
  template <class F>
  void each(F&& f) {
    for (Slot& s : slots_)
      if (Recording* r = recording(s)) f(*r, r->at(size_t(s.event)), size_t(s.event));
  }
  void here();  // the user's line and module, and stack
  void at(const Origin& origin);
  void failed() {
    each([](Recording&, Event& e, size_t) { e.failed = true; });
  }
  void finish();

 private:
  struct Slot {
    uint64_t run = 0;  // of the recording; 0: it has no such event
    int32_t event = -1;
    bool skips = false;  // this event was left out, with all that is in it
  };
  Recording* recording(const Slot& s);
  Slot slots_[Recording::kMost];
  bool over_ = false;
};

// An event that began and ended already, on that thread: for helpers, which do not hold the lock.
void record_past(EventKind kind, int64_t begin, int64_t end, uint32_t thread,
                 const std::function<void(Recording&, Event&, size_t)>& describe);

int64_t recorder_clock();  // nanoseconds, steady
uint32_t thread_number();  // of this thread: 1, 2 … in the order in which they asked

// The allocator reports here while a recording is on.
void record_memory(const void* address, int64_t bytes, int64_t live);

// Whether the allocator reports each block (core/memory.cpp), and whether the dispatcher records calls
// (ops/events.cpp): while a recording is on. Both are switched, so that they test nothing more while none is.
void report_memory(bool on);
void record_calls(bool on);

}  // namespace weft
