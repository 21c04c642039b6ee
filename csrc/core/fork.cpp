#include "core/fork.h"

#include <algorithm>
#include <vector>

namespace weft {

// All that happens at a fork. Never destroyed: threads use its locks until the process ends.
class AtFork {
 public:
  static AtFork& the() {
    static AtFork* all = new AtFork;
    return *all;
  }

  void add(ForkLock* lock) {
    auto later = [](const ForkLock* a, const ForkLock* b) { return a->order_ < b->order_; };
    locks_.insert(std::upper_bound(locks_.begin(), locks_.end(), lock, later), lock);
  }
  void add(void (*in_child)()) { in_child_.push_back(in_child); }

  std::list<Claim::Entry> claims;

  static void change(const Claim::Entry& e, int32_t by) {
    for (int32_t* count : e.counts) *count += by;
  }

 private:
  AtFork() {
    pthread_atfork([] { the().hold(); }, [] { the().release(); }, [] { the().begin_child(); });
  }

  void hold() {
    for (ForkLock* lock : locks_) lock->hold();
  }
  void release() {
    for (auto lock = locks_.rbegin(); lock != locks_.rend(); ++lock) (*lock)->release();
  }
  void begin_child() {
    for (ForkLock* lock : locks_) lock->reset_in_child();
    auto is_gone = [](const Claim::Entry& e) { return !pthread_equal(e.by, pthread_self()); };
    for (Claim::Entry& e : claims)
      if (is_gone(e)) change(e, -1);
    claims.remove_if(is_gone);
    for (void (*f)() : in_child_) f();
  }

  std::vector<ForkLock*> locks_;
  std::vector<void (*)()> in_child_;
};

namespace {
const AtFork& g_at_load = AtFork::the();
}

ForkLock::ForkLock(LockOrder order) : order_(order) { AtFork::the().add(this); }

void in_child(void (*f)()) { AtFork::the().add(f); }

Claim::Claim(std::vector<int32_t*> counts) {
  auto& all = AtFork::the().claims;
  at_ = all.insert(all.end(), {std::move(counts), pthread_self()});
  AtFork::change(*at_, 1);
}

Claim::~Claim() {
  AtFork::change(*at_, -1);
  AtFork::the().claims.erase(at_);
}

}  // namespace weft
