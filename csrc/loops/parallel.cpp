#include "loops/parallel.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace weft {
namespace {

int g_threads = 0;
bool g_forked = false;  // libgomp's pool does not survive fork: a child works on one thread

// The CPUs that affinity and the cgroup's quota leave to this process.
int available_cpus() {
  cpu_set_t set;
  int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  if (FILE* f = std::fopen("/sys/fs/cgroup/cpu.max", "r")) {
    long quota = 0, period = 0;
    if (std::fscanf(f, "%ld %ld", &quota, &period) == 2 && quota > 0 && period > 0)
      n = std::min<long>(n, std::max(1L, (quota + period - 1) / period));
    std::fclose(f);
  }
  if (const char* env = std::getenv("OMP_NUM_THREADS")) {
    int wanted = std::atoi(env);
    if (wanted > 0) n = wanted;
  }
  return std::max(1, n);
}

}  // namespace

int num_threads() {
  if (g_forked) return 1;
  if (g_threads == 0) {
    g_threads = available_cpus();
    omp_set_num_threads(g_threads);
    pthread_atfork(nullptr, nullptr, [] {
      g_forked = true;
      omp_set_num_threads(1);
    });
  }
  return g_threads;
}

void set_num_threads(int n) {
  num_threads();
  g_threads = std::max(1, n);
  omp_set_num_threads(g_forked ? 1 : g_threads);
}

bool in_parallel() { return omp_in_parallel(); }

}  // namespace weft
