#include "exec/memory_planner.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace weft {

namespace {

constexpr size_t kFew = 1024;     // blocks up to which comparing all of them is quicker
constexpr int kMostJumps = 1024;  // over memory in use, before a block goes on top

constexpr double kGood = 1.005;  // times the least: another order is not tried

bool is_used(const Block& p) { return p.bytes && p.first <= p.last; }

// Memory that is in use during a time: spans that touch are one.
class Spans {
 public:
  void add(int64_t begin, int64_t end) {
    auto at = std::lower_bound(all_.begin(), all_.end(), begin, [](const Span& s, int64_t x) { return s.end < x; });
    auto after = at;
    for (; after != all_.end() && after->begin <= end; ++after) {
      begin = std::min(begin, after->begin);
      end = std::max(end, after->end);
    }
    if (at == after) {
      all_.insert(at, {begin, end});
      return;
    }
    *at = {begin, end};
    all_.erase(at + 1, after);
  }
  // The end of what lies in the way of that many bytes; at most `begin` if nothing does.
  int64_t blocks_until(int64_t begin, int64_t bytes) const {
    auto at = std::upper_bound(all_.begin(), all_.end(), begin, [](int64_t x, const Span& s) { return x < s.end; });
    return at != all_.end() && at->begin < begin + bytes ? at->end : begin;
  }
  bool empty() const { return all_.empty(); }
  int64_t top() const { return all_.back().end; }

 private:
  struct Span {
    int64_t begin, end;
  };
  std::vector<Span> all_;
};

// What is in use when: a tree of times, each node with what is in use throughout its time, and at any part of it.
class InUse {
 public:
  explicit InUse(int steps) {
    while (leaves_ < steps) leaves_ *= 2;
    nodes_.resize(size_t(2 * leaves_));
  }

  void add(const Block& p) {
    each_part(p, [&](Node& n) {
      n.throughout.add(p.at, p.at + p.bytes);
      n.any.add(p.at, p.at + p.bytes);
    });
    each_above([&](Node& n) { n.any.add(p.at, p.at + p.bytes); });
  }

  // The lowest place that is free during all of its time, or one above all that is in use then.
  int64_t place_for(const Block& p) {
    std::vector<const Spans*> seen;
    auto see = [&](const Spans& s) {
      if (!s.empty()) seen.push_back(&s);
    };
    each_part(p, [&](Node& n) { see(n.any); });
    each_above([&](Node& n) { see(n.throughout); });
    int64_t at = 0;
    int jumps = 0;
    for (size_t still = 0, i = 0; still < seen.size(); i = (i + 1) % seen.size()) {
      int64_t end = seen[i]->blocks_until(at, p.bytes);
      still = end > at ? 0 : still + 1;
      at = end;
      if (++jumps <= kMostJumps) continue;
      for (const Spans* s : seen) at = std::max(at, s->top());
      return at;
    }
    return at;
  }

 private:
  struct Node {
    Spans throughout, any;
    int visit = 0;
  };

  // Calls f for the fewest nodes that make up the time of a block.
  template <class F>
  void each_part(const Block& p, const F& f) {
    parts_.clear();
    for (int l = p.first + leaves_, r = p.last + leaves_ + 1; l < r; l /= 2, r /= 2) {
      if (l & 1) parts_.push_back(l++);
      if (r & 1) parts_.push_back(--r);
    }
    for (int n : parts_) f(nodes_[size_t(n)]);
  }
  // And for all nodes above these, each once.
  template <class F>
  void each_above(const F& f) {
    ++visit_;
    for (int n : parts_)
      for (int above = n / 2; above && nodes_[size_t(above)].visit != visit_; above /= 2) {
        nodes_[size_t(above)].visit = visit_;
        f(nodes_[size_t(above)]);
      }
  }

  int leaves_ = 1, visit_ = 0;
  std::vector<Node> nodes_;
  std::vector<int> parts_;
};

template <class Key>
void sort_by(std::vector<Block>& blocks, const Key& key) {
  std::sort(blocks.begin(), blocks.end(), [&](const Block& a, const Block& b) {
    double x = key(a), y = key(b);
    return x != y ? x > y : a.buffer < b.buffer;
  });
}

int64_t stack_in_order(std::vector<Block>& blocks) {
  return blocks.size() <= kFew ? lay_out_few(blocks) : lay_out_many(blocks);
}

}  // namespace

int64_t lay_out_few(std::vector<Block>& blocks) {
  std::vector<const Block*> placed;  // by their place
  int64_t total = 0;
  for (Block& p : blocks) {
    p.at = 0;
    if (!is_used(p)) continue;
    for (const Block* other : placed) {
      if (other->last < p.first || p.last < other->first) continue;
      if (p.at + p.bytes <= other->at) break;
      p.at = std::max(p.at, other->at + other->bytes);
    }
    auto after = std::find_if(placed.begin(), placed.end(), [&](const Block* o) { return o->at > p.at; });
    placed.insert(after, &p);
    total = std::max(total, p.at + p.bytes);
  }
  return total;
}

int64_t lay_out_many(std::vector<Block>& blocks) {
  int steps = 1;
  for (const Block& p : blocks) steps = std::max(steps, p.last + 1);
  InUse in_use(steps);
  int64_t total = 0;
  for (Block& p : blocks) {
    p.at = 0;
    if (!is_used(p)) continue;
    p.at = in_use.place_for(p);
    in_use.add(p);
    total = std::max(total, p.at + p.bytes);
  }
  return total;
}

int64_t most_in_use(const std::vector<Block>& blocks) {
  std::vector<std::pair<int, int64_t>> changes;  // step, and how many bytes more; what goes before what comes
  for (const Block& p : blocks)
    if (is_used(p)) changes.insert(changes.end(), {{p.first, p.bytes}, {p.last + 1, -p.bytes}});
  std::sort(changes.begin(), changes.end());
  int64_t now = 0, most = 0;
  for (auto [step, bytes] : changes) most = std::max(most, now += bytes);
  return most;
}

int64_t lay_out(std::vector<Block>& blocks) {
  sort_by(blocks, [](const Block& p) { return double(p.bytes); });
  int64_t total = stack_in_order(blocks);
  if (double(total) <= kGood * double(most_in_use(blocks))) return total;
  std::vector<Block> others = blocks;
  sort_by(others, [](const Block& p) { return double(p.bytes) * (p.last - p.first + 1); });
  if (int64_t least = stack_in_order(others); least < total) {
    blocks = std::move(others);
    return least;
  }
  return total;
}

namespace {

// What is free between blocks that come and go.
class Free {
 public:
  explicit Free(int64_t total) : ends_{{-1, 0}, {total, total}} { note(0, total); }

  void occupy(int64_t begin, int64_t bytes) {
    auto after = ends_.upper_bound(begin), before = std::prev(after);
    forget(before->second, after->first);
    note(before->second, begin);
    note(begin + bytes, after->first);
    ends_.emplace_hint(after, begin, begin + bytes);
  }

  void leave(int64_t begin) {
    auto block = ends_.find(begin);
    auto before = std::prev(block), after = std::next(block);
    forget(before->second, begin);
    forget(block->second, after->first);
    note(before->second, after->first);
    ends_.erase(block);
  }

  std::vector<Loan::Gap> gaps() const {
    std::vector<Loan::Gap> all;
    for (auto [bytes, begin] : gaps_) all.push_back({begin, bytes});
    return all;
  }

 private:
  void note(int64_t begin, int64_t end) {
    if (end - begin >= Loan::kLeast) gaps_.insert({end - begin, begin});
  }
  void forget(int64_t begin, int64_t end) { gaps_.erase({end - begin, begin}); }

  std::map<int64_t, int64_t> ends_;             // begin and end of each block, and of what lies around all
  std::set<std::pair<int64_t, int64_t>> gaps_;  // bytes and begin
};

}  // namespace

std::vector<std::vector<Loan::Gap>> gaps_between(const std::vector<Block>& blocks, int steps, int64_t total) {
  std::vector<const Block*> coming;
  for (const Block& p : blocks)
    if (p.bytes && p.first <= p.last && p.last >= 0) coming.push_back(&p);
  std::vector<const Block*> going = coming;
  std::sort(coming.begin(), coming.end(), [](const Block* a, const Block* b) { return a->first < b->first; });
  std::sort(going.begin(), going.end(), [](const Block* a, const Block* b) { return a->last < b->last; });
  Free free(total);
  std::vector<std::vector<Loan::Gap>> all;
  auto next = coming.begin(), over = going.begin();
  for (int step = 0; step < steps; ++step) {
    for (; over != going.end() && (*over)->last < step; ++over) free.leave((*over)->at);
    for (; next != coming.end() && (*next)->first <= step; ++next) free.occupy((*next)->at, (*next)->bytes);
    all.push_back(free.gaps());
  }
  return all;
}

}  // namespace weft
