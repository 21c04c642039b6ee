#include "exec/schedule.h"

#include <algorithm>

namespace weft {
namespace {

constexpr int kWindow = 256;       // steps that are considered for one to run concurrently with another
constexpr double kMeeting = 3e-6;  // seconds that it takes until other threads have begun and all are done
constexpr double kWorth = 0.1;     // part of the time that must be saved: what was measured is noisy

}  // namespace

Schedule concurrent_ops(const std::vector<StepTime>& times, int threads) {
  Schedule made;
  int count = int(times.size());
  std::vector<bool> done(times.size());
  for (int i = 0; i < count; ++i) {
    if (done[size_t(i)]) continue;
    int begin = int(made.steps.size());
    made.steps.push_back(i);
    double before = times[size_t(i)].shared, longest = times[size_t(i)].alone + kMeeting, saved = 0;
    while (times[size_t(i)].concurrent && int(made.steps.size()) - begin < threads) {
      int best = -1;
      for (int k = i + 1; k < std::min(count, i + kWindow); ++k) {
        const StepTime& t = times[size_t(k)];
        if (done[size_t(k)] || !t.concurrent || t.after >= i) continue;
        double together = std::max(longest, t.alone + kMeeting), gain = before + t.shared - together;
        if (gain <= saved || gain < kWorth * (before + t.shared)) continue;
        best = k, saved = gain;
      }
      if (best < 0) break;
      made.steps.push_back(best);
      done[size_t(best)] = true;
      before += times[size_t(best)].shared;
      longest = std::max(longest, times[size_t(best)].alone + kMeeting);
    }
    made.slots.push_back({begin, int(made.steps.size()) - begin});
  }
  return made;
}

}  // namespace weft
