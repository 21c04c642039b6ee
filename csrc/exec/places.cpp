#include "exec/places.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace weft {

namespace {

constexpr size_t kFew = 1024;     // pieces up to which comparing all of them is quicker
constexpr int kMostJumps = 1024;  // over memory in use, before a piece goes on top

constexpr double kGood = 1.005;  // times the least: another order is not tried

bool is_used(const Piece& p) { return p.bytes && p.first <= p.last; }

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

  void add(const Piece& p) {
    each_part(p, [&](Node& n) {
      n.throughout.add(p.at, p.at + p.bytes);
      n.any.add(p.at, p.at + p.bytes);
    });
    each_above([&](Node& n) { n.any.add(p.at, p.at + p.bytes); });
  }

  // The lowest place that is free during all of its time, or one above all that is in use then.
  int64_t place_for(const Piece& p) {
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

  // Calls f for the fewest nodes that make up the time of a piece.
  template <class F>
  void each_part(const Piece& p, const F& f) {
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
void sort_by(std::vector<Piece>& pieces, const Key& key) {
  std::sort(pieces.begin(), pieces.end(), [&](const Piece& a, const Piece& b) {
    double x = key(a), y = key(b);
    return x != y ? x > y : a.buffer < b.buffer;
  });
}

int64_t stack_in_order(std::vector<Piece>& pieces) {
  return pieces.size() <= kFew ? stack_few(pieces) : stack_many(pieces);
}

}  // namespace

int64_t stack_few(std::vector<Piece>& pieces) {
  std::vector<const Piece*> placed;  // by their place
  int64_t total = 0;
  for (Piece& p : pieces) {
    p.at = 0;
    if (!is_used(p)) continue;
    for (const Piece* other : placed) {
      if (other->last < p.first || p.last < other->first) continue;
      if (p.at + p.bytes <= other->at) break;
      p.at = std::max(p.at, other->at + other->bytes);
    }
    auto after = std::find_if(placed.begin(), placed.end(), [&](const Piece* o) { return o->at > p.at; });
    placed.insert(after, &p);
    total = std::max(total, p.at + p.bytes);
  }
  return total;
}

int64_t stack_many(std::vector<Piece>& pieces) {
  int steps = 1;
  for (const Piece& p : pieces) steps = std::max(steps, p.last + 1);
  InUse in_use(steps);
  int64_t total = 0;
  for (Piece& p : pieces) {
    p.at = 0;
    if (!is_used(p)) continue;
    p.at = in_use.place_for(p);
    in_use.add(p);
    total = std::max(total, p.at + p.bytes);
  }
  return total;
}

int64_t most_in_use(const std::vector<Piece>& pieces) {
  std::vector<std::pair<int, int64_t>> changes;  // step, and how many bytes more; what goes before what comes
  for (const Piece& p : pieces)
    if (is_used(p)) changes.insert(changes.end(), {{p.first, p.bytes}, {p.last + 1, -p.bytes}});
  std::sort(changes.begin(), changes.end());
  int64_t now = 0, most = 0;
  for (auto [step, bytes] : changes) most = std::max(most, now += bytes);
  return most;
}

int64_t stack(std::vector<Piece>& pieces) {
  sort_by(pieces, [](const Piece& p) { return double(p.bytes); });
  int64_t total = stack_in_order(pieces);
  if (double(total) <= kGood * double(most_in_use(pieces))) return total;
  std::vector<Piece> others = pieces;
  sort_by(others, [](const Piece& p) { return double(p.bytes) * (p.last - p.first + 1); });
  if (int64_t least = stack_in_order(others); least < total) {
    pieces = std::move(others);
    return least;
  }
  return total;
}

namespace {

// What is free between pieces that come and go.
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
    auto piece = ends_.find(begin);
    auto before = std::prev(piece), after = std::next(piece);
    forget(before->second, begin);
    forget(piece->second, after->first);
    note(before->second, after->first);
    ends_.erase(piece);
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

  std::map<int64_t, int64_t> ends_;             // begin and end of each piece, and of what lies around all
  std::set<std::pair<int64_t, int64_t>> gaps_;  // bytes and begin
};

}  // namespace

std::vector<std::vector<Loan::Gap>> gaps_between(const std::vector<Piece>& pieces, int steps, int64_t total) {
  std::vector<const Piece*> coming;
  for (const Piece& p : pieces)
    if (p.bytes && p.first <= p.last && p.last >= 0) coming.push_back(&p);
  std::vector<const Piece*> going = coming;
  std::sort(coming.begin(), coming.end(), [](const Piece* a, const Piece* b) { return a->first < b->first; });
  std::sort(going.begin(), going.end(), [](const Piece* a, const Piece* b) { return a->last < b->last; });
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
