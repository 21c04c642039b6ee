#include "loops/fft_plan.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <list>
#include <mutex>
#include <numbers>
#include <vector>

#include "core/fork.h"
#include "loops/parallel.h"

namespace weft {
namespace {

constexpr int64_t kMostPrime = 127;     // larger prime factors: Bluestein (odd_pass has room for as many)
constexpr int64_t kMostInLanes = 8192;  // the longest side of a matrix
constexpr int64_t kCacheBytes = int64_t(64) << 20;
constexpr size_t kMostPlans = 64;

// exp(-2 pi i k / n), each part correct to the last bit of T or nearly so: the product of two entries of short tables
// in long double.
class Roots {
 public:
  using L = long double;
  explicit Roots(int64_t n) : n_(n) {
    while ((int64_t(1) << (2 * bits_)) < n) ++bits_;
    for (int64_t k = 0; k < int64_t(1) << bits_; ++k) fine_.push_back(exact(k));
    for (int64_t k = 0; k < n; k += int64_t(1) << bits_) coarse_.push_back(exact(k));
  }
  template <class T>
  void write(int64_t k, T* to) const {
    auto [a, b] = coarse_[size_t(k >> bits_)];
    auto [c, d] = fine_[size_t(k & ((int64_t(1) << bits_) - 1))];
    to[0] = T(a * c - b * d + 0), to[1] = T(a * d + b * c + 0);  // + 0: no negative zeros
  }

 private:
  struct Pair {
    L re, im;
  };
  // By the octant of the angle, so that sine and cosine are computed of at most pi / 4.
  Pair exact(int64_t k) const {
    int64_t eighth = 8 * (k % n_), octant = eighth / n_, rest = eighth - octant * n_;
    if (octant & 1) rest = n_ - rest;
    L angle = std::numbers::pi_v<L> / 4 * L(rest) / L(n_), c = std::cos(angle), s = std::sin(angle);
    if (((octant + 1) >> 1) & 1) std::swap(c, s);
    if (octant >= 2 && octant < 6) c = -c;
    if (octant >= 4) s = -s;
    return {c, -s};
  }
  int64_t n_;
  int bits_ = 0;
  std::vector<Pair> fine_, coarse_;
};

std::vector<int64_t> factors_of(int64_t n) {
  std::vector<int64_t> found;
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  for (int64_t p = 3; p * p <= n; p += 2)
    for (; n % p == 0; n /= p) found.push_back(p);
  if (n > 1) found.push_back(n);
  std::sort(found.begin(), found.end(), std::greater<>());
  for (; twos > 4 || twos == 3; twos -= 3) found.push_back(8);
  for (; twos >= 2; twos -= 2) found.push_back(4);
  if (twos) found.push_back(2);
  return found;
}
int64_t largest_prime(int64_t n) {
  int64_t most = 1;
  for (int64_t f : factors_of(n)) most = std::max(most, f == 4 || f == 8 ? 2 : f);
  return most;
}

int64_t smooth_from(int64_t n) {  // the next number with the factors 2, 3 and 5 that has many twos
  for (;; ++n) {
    int64_t rest = n;
    for (int64_t p : {2, 3, 5})
      while (rest % p == 0) rest /= p;
    if (rest == 1 && n % (n < 64 ? 1 : 8) == 0) return n;
  }
}

// The memory of a plan, and of those it is made of.
class Store {
 public:
  template <class T>
  T* take(int64_t count) {
    auto memory = std::make_unique<char[]>(size_t(count) * sizeof(T) + 64);
    bytes += count * int64_t(sizeof(T));
    auto at = (reinterpret_cast<uintptr_t>(memory.get()) + 63) & ~uintptr_t(63);
    blocks_.push_back(std::move(memory));
    return reinterpret_cast<T*>(at);
  }
  int64_t bytes = 0;

 private:
  std::vector<std::unique_ptr<char[]>> blocks_;
};

template <class T>
struct Planned {
  Store store;
  std::deque<FftPlan<T>> plans;
  std::deque<LongPlan<T>> longs;

  const FftPlan<T>* lanes(int64_t n, bool halved) {
    FftPlan<T>& p = plans.emplace_back();
    p.n = n, p.rows = n + 1;
    if (halved) {
      Roots roots(2 * n);
      T* to = store.take<T>(2 * (n / 2 + 1));
      p.halves = to;
      for (int64_t k = 0; k <= n / 2; ++k) roots.write(k, to + 2 * k);
    }
    if (largest_prime(n) > kMostPrime)
      convolution(p);
    else
      passes(p);
    return &p;
  }

  void passes(FftPlan<T>& p) {
    int64_t m = p.n, s = 1;
    for (int64_t r : factors_of(p.n)) {
      Roots roots(m);
      m /= r;
      T* twiddles = store.take<T>(m * (r - 1) * 2);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t k = 1; k < r; ++k) roots.write(i * k, twiddles + (i * (r - 1) + k - 1) * 2);
      T* matrix = nullptr;
      if (r % 2) {
        int64_t h = r / 2;
        Roots of_r(r);
        matrix = store.take<T>(2 * h * h);
        for (int64_t j = 1; j <= h; ++j)
          for (int64_t k = 1; k <= h; ++k) {
            T w[2];
            of_r.write(j * k % r, w);
            int64_t at = (j - 1) * h + k - 1;
            matrix[at] = w[0], matrix[h * h + at] = -w[1];
          }
      }
      p.pass[p.passes++] = {r, m, s, twiddles, matrix};
      s *= r;
    }
  }

  void convolution(FftPlan<T>& p) {
    int64_t n = p.n, m = smooth_from(2 * n - 1);
    const FftPlan<T>* inner = lanes(m, false);
    p.inner = inner, p.rows = std::max(p.rows, m + 1);
    T* chirp = chirp_of(n);
    p.chirp = chirp;
    std::vector<T> conjugate = padded_conjugate(chirp, n, m), work(size_t(4 * fft_lanes() * inner->rows));
    T* spectrum = store.take<T>(2 * m);
    p.spectrum = spectrum;
    FftLines<T> x;
    x.n = m, x.from = conjugate.data(), x.to = spectrum, x.from_step = x.to_step = 2;
    x.scale = T(1) / T(m);
    fft_table().lines(*inner, x, 1, work.data());
  }

  const LongPlan<T>* matrix(int64_t n, int lanes_, bool halved) {
    LongPlan<T>& p = longs.emplace_back();
    p.n = n;
    if (halved) {
      constexpr int64_t kFine = FftHalves<T>::kFine;
      Roots roots(2 * n);
      T *coarse = store.take<T>(2 * (n / kFine + 1)), *fine = store.take<T>(2 * kFine);
      p.coarse = coarse, p.fine = fine;
      for (int64_t k = 0; k <= n / kFine; ++k) roots.write(k * kFine, coarse + 2 * k);
      for (int64_t k = 0; k < kFine; ++k) roots.write(k % (2 * n), fine + 2 * k);
    }
    int64_t n2 = side_of(n), n1 = n / n2;  // the longer side is transformed first
    bool smooth = largest_prime(n1) <= kMostPrime;
    if (n2 * (smooth ? 4 : 2) < lanes_ || (n1 > kMostInLanes && n1 > 8 * n2)) {
      convolution(p, lanes_);
      return &p;
    }
    p.n1 = n1, p.n2 = n2;
    p.columns = lanes(n1, false);
    p.rows = n1 == n2 ? p.columns : lanes(n2, false);
    Roots roots(n);
    T* lane = store.take<T>(n1 * 2 * lanes_);
    p.lane_twiddles = lane;
    for (int64_t k = 0; k < n1; ++k)
      for (int64_t l = 0; l < lanes_; ++l) {
        T w[2];
        roots.write(k * l % n, w);
        lane[(k * 2) * lanes_ + l] = w[0], lane[(k * 2 + 1) * lanes_ + l] = w[1];
      }
    int64_t blocks = (n2 + lanes_ - 1) / lanes_;
    T* each = store.take<T>(2 * blocks * n1);
    p.twiddles = each;
    for (int64_t b = 0; b < blocks; ++b)
      for (int64_t k = 0; k < n1; ++k) roots.write(k * (b * lanes_) % n, each + (b * n1 + k) * 2);
    return &p;
  }

  void convolution(LongPlan<T>& p, int lanes_) {
    int64_t n = p.n, m = smooth_from(2 * n - 1);
    while (side_of(m) * 4 < lanes_) m = smooth_from(m + 1);  // a very short one has no sides
    p.inner = matrix(m, lanes_, false);
    T* chirp = chirp_of(n);
    p.chirp = chirp;
    std::vector<T> conjugate = padded_conjugate(chirp, n, m), between(size_t(2 * m));
    T* spectrum = store.take<T>(2 * m);
    p.spectrum = spectrum;
    four_steps(*p.inner, true, T(1) / T(m), conjugate.data(), spectrum, between.data());
  }

  // exp(-pi i j^2 / n)
  T* chirp_of(int64_t n) {
    Roots roots(2 * n);
    T* chirp = store.take<T>(2 * n);
    int64_t square = 0;  // modulo 2 n
    for (int64_t j = 0; j < n; ++j) {
      roots.write(square, chirp + 2 * j);
      square = (square + 2 * j + 1) % (2 * n);
    }
    return chirp;
  }
  static std::vector<T> padded_conjugate(const T* chirp, int64_t n, int64_t m) {
    std::vector<T> x(size_t(2 * m));
    for (int64_t j = 0; j < n; ++j)
      for (int64_t at : {j, (m - j) % m}) x[size_t(2 * at)] = chirp[2 * j], x[size_t(2 * at + 1)] = -chirp[2 * j + 1];
    return x;
  }
  static const FftTable<T>& fft_table() {
    if constexpr (sizeof(T) == 4)
      return fft_kernels().floats;
    else
      return fft_kernels().doubles;
  }
  static int fft_lanes() { return fft_table().lanes; }
  static int64_t side_of(int64_t n) {  // the largest factor that is not above the root
    int64_t best = 1;
    for (int64_t d = 2; d * d <= n; ++d)
      if (n % d == 0) best = d;
    return best;
  }
};

// The cache: the most recently used first.
struct Kept {
  int64_t n;
  int item, lanes;  // lanes: of a long plan, else 0
  bool halved;
  int64_t bytes;
  std::shared_ptr<const void> plan;
  bool operator==(const Kept& o) const { return n == o.n && item == o.item && lanes == o.lanes && halved == o.halved; }
};
struct Cache {
  ForkMutex lock{LockOrder::plans};
  std::list<Kept> kept;
  int64_t bytes = 0;

  std::shared_ptr<const void> find(const Kept& wanted) {
    std::lock_guard hold(lock);
    for (auto it = kept.begin(); it != kept.end(); ++it)
      if (*it == wanted) {
        kept.splice(kept.begin(), kept, it);
        return it->plan;
      }
    return nullptr;
  }
  void add(Kept made) {
    std::list<Kept> gone;  // freed without the lock
    std::lock_guard hold(lock);
    bytes += made.bytes;
    kept.push_front(std::move(made));
    while (bytes > kCacheBytes || kept.size() > kMostPlans) {
      bytes -= kept.back().bytes;
      gone.splice(gone.begin(), kept, std::prev(kept.end()));
    }
  }
};
Cache& cache() {
  static Cache& c = *new Cache;  // threads may use it until the process ends
  return c;
}
[[maybe_unused]] Cache& g_cache_at_load = cache();

template <class Plan, class T, class Make>
std::shared_ptr<const Plan> kept_or_made(Kept wanted, const Make& make) {
  if (auto found = cache().find(wanted)) return std::static_pointer_cast<const Plan>(found);
  auto all = std::make_shared<Planned<T>>();
  std::shared_ptr<const Plan> plan(all, make(*all));
  wanted.bytes = all->store.bytes, wanted.plan = plan;
  cache().add(std::move(wanted));
  return plan;
}

}  // namespace

template <class T>
std::shared_ptr<const FftPlan<T>> plan_of(int64_t n, bool halved) {
  return kept_or_made<FftPlan<T>, T>({n, int(sizeof(T)), 0, halved, 0, nullptr},
                                     [&](Planned<T>& all) { return all.lanes(n, halved); });
}
template <class T>
std::shared_ptr<const LongPlan<T>> long_plan_of(int64_t n, int lanes, bool halved) {
  return kept_or_made<LongPlan<T>, T>({n, int(sizeof(T)), lanes, halved, 0, nullptr},
                                      [&](Planned<T>& all) { return all.matrix(n, lanes, halved); });
}
template std::shared_ptr<const FftPlan<float>> plan_of(int64_t, bool);
template std::shared_ptr<const FftPlan<double>> plan_of(int64_t, bool);
template std::shared_ptr<const LongPlan<float>> long_plan_of(int64_t, int, bool);
template std::shared_ptr<const LongPlan<double>> long_plan_of(int64_t, int, bool);

bool best_alone(int64_t n, int item, int lanes, int64_t lines, bool adjacent) {
  if (n < 48) return false;
  if (3 * lines < 2 * lanes) return true;  // most lanes would be empty
  int64_t bytes = n * 4 * lanes * item;    // what lanes work in: it should fit into the cache
  return bytes > (adjacent ? int64_t(4) << 20 : int64_t(512) << 10);
}

int64_t blocks_of_lines(int64_t rows, int64_t blocks) {
  constexpr int64_t kEnough = 4096;  // rows
  return std::clamp<int64_t>(kEnough / rows, 1, std::max<int64_t>(blocks, 1));
}

}  // namespace weft
