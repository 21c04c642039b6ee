#include "exec/places.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace weft {

int64_t stack(std::vector<Piece>& pieces) {
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.memory < b.memory;
  });
  std::vector<const Piece*> placed;  // by their place
  int64_t total = 0;
  for (Piece& p : pieces) {
    p.at = 0;
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
