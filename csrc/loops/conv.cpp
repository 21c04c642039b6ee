#include "loops/conv.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <list>
#include <shared_mutex>
#include <string>

#include "core/dims.h"
#include "core/error.h"
#include "core/fork.h"
#include "core/memory.h"
#include "loops/conv_direct.h"
#include "loops/gemm.h"
#include "loops/modular.h"
#include "loops/parallel.h"

namespace weft {
namespace {

// Calls f(place, pixel, n) for each row of places of the result whose windows read pixels with this tap: n of them,
// from these on, stride[2] pixels apart.
template <class F>
void each_row(const Conv& c, int64_t tap, const F& f) {
  const int64_t t2 = tap % c.kernel[2], t1 = tap / c.kernel[2] % c.kernel[1], t0 = tap / c.kernel[2] / c.kernel[1];
  const int64_t shift = t2 * c.dilation[2] - c.pad[2], step = c.stride[2], room = c.size[2] - 1 - shift;
  const int64_t first = shift < 0 ? (-shift + step - 1) / step : 0;
  const int64_t n = std::min(room < 0 ? 0 : room / step + 1, c.result[2]) - first;
  if (n <= 0) return;
  for (int64_t a = 0; a < c.result[0]; ++a) {
    int64_t x0 = a * c.stride[0] + t0 * c.dilation[0] - c.pad[0];
    if (x0 < 0 || x0 >= c.size[0]) continue;
    for (int64_t b = 0; b < c.result[1]; ++b) {
      int64_t x1 = b * c.stride[1] + t1 * c.dilation[1] - c.pad[1];
      if (x1 < 0 || x1 >= c.size[1]) continue;
      f((a * c.result[1] + b) * c.result[2] + first, (x0 * c.size[1] + x1) * c.size[2] + first * step + shift, n);
    }
  }
}

// The windows of one image and group, as a matrix: (channels * taps) x places.
template <class T>
void lay_out(const Conv& c, const T* x, T* windows) {
  int64_t channels = c.in / c.groups, taps = c.taps(), places = c.places(), step = c.stride[2];
  std::memset(static_cast<void*>(windows), 0, size_t(channels * taps * places) * sizeof(T));
  for (int64_t k = 0; k < channels * taps; ++k)
    each_row(c, k % taps, [&](int64_t place, int64_t pixel, int64_t n) {
      const T* from = x + k / taps * c.pixels() + pixel;
      T* to = windows + k * places + place;
      if (step == 1)
        std::copy_n(from, n, to);
      else
        for (int64_t i = 0; i < n; ++i) to[i] = from[i * step];
    });
}
template <class T>
void add_back(const Conv& c, const T* windows, T* x) {
  int64_t channels = c.in / c.groups, taps = c.taps(), places = c.places(), step = c.stride[2];
  for (int64_t k = 0; k < channels * taps; ++k)
    each_row(c, k % taps, [&](int64_t place, int64_t pixel, int64_t n) {
      const T* from = windows + k * places + place;
      T* to = x + k / taps * c.pixels() + pixel;
      if (step == 1)
        for (int64_t i = 0; i < n; ++i) to[i] = modular::add(to[i], from[i]);
      else
        for (int64_t i = 0; i < n; ++i) to[i * step] = modular::add(to[i * step], from[i]);
    });
}

// Half types are widened by the op: here are those that gemm and addition know as they are.
template <class F>
void by_type(DType type, const F& f) {
  switch (type) {
    case DType::Float: return f(float());
    case DType::Double: return f(double());
    case DType::ComplexFloat: return f(std::complex<float>());
    case DType::ComplexDouble: return f(std::complex<double>());
    case DType::UInt8: return f(uint8_t());
    case DType::Int8: return f(int8_t());
    case DType::Int16: return f(int16_t());
    case DType::Int32: return f(int32_t());
    case DType::Int64: return f(int64_t());
    default: return;
  }
}

struct Parts {  // of one group
  int64_t rows, inner, places, x, w, y;
  explicit Parts(const Conv& c)
      : rows(c.out / c.groups),
        inner(c.in / c.groups * c.taps()),
        places(c.places()),
        x(c.in / c.groups * c.pixels()),
        w(rows * inner),
        y(rows * places) {}
};

// Memory for the windows of one image and group on each thread, taken before the threads start.
template <class T>
class Windows {
 public:
  Windows(const Parts& p, int64_t work) : memory_(Size(p.inner) * p.places * int64_t(sizeof(T)), work) {}
  T* mine() const { return memory_.template mine<T>(); }

 private:
  PerThread memory_;
};

}  // namespace

void plain_conv_forward(DType type, const Conv& given, const void* x, const void* w, const void* bias, void* y) {
  const Conv c = moved_to_end(given);  // long rows
  Parts p(c);
  by_type(type, [&](auto zero) {
    using T = decltype(zero);
    Windows<T> space(p, c.batch * c.groups);
    parallel_each(c.batch * c.groups, [&](int64_t i) {
      T* windows = space.mine();
      int64_t group = i % c.groups;
      T* out = static_cast<T*>(y) + i * p.y;
      lay_out(c, static_cast<const T*>(x) + i * p.x, windows);
      if (bias)
        for (int64_t r = 0; r < p.rows; ++r)
          std::fill_n(out + r * p.places, p.places, static_cast<const T*>(bias)[group * p.rows + r]);
      gemm(type, false, false, p.rows, p.places, p.inner, static_cast<const T*>(w) + group * p.w, p.inner, windows,
           p.places, out, p.places, 1, bias ? 1 : 0);
    });
  });
}

void plain_conv_input(DType type, const Conv& given, const void* g, const void* w, void* dx) {
  const Conv c = moved_to_end(given);  // long rows
  Parts p(c);
  by_type(type, [&](auto zero) {
    using T = decltype(zero);
    Windows<T> space(p, c.batch * c.groups);
    parallel_each(c.batch * c.groups, [&](int64_t i) {
      T* windows = space.mine();
      T* out = static_cast<T*>(dx) + i * p.x;
      gemm(type, true, false, p.inner, p.places, p.rows, static_cast<const T*>(w) + i % c.groups * p.w, p.inner,
           static_cast<const T*>(g) + i * p.y, p.places, windows, p.places, 1, 0);
      std::fill_n(out, p.x, T());
      add_back(c, windows, out);
    });
  });
}

void plain_conv_weight(DType type, const Conv& given, const void* x, const void* g, void* dw) {
  const Conv c = moved_to_end(given);  // long rows
  Parts p(c);
  by_type(type, [&](auto zero) {
    using T = decltype(zero);
    Windows<T> space(p, c.groups);
    parallel_each(c.groups, [&](int64_t group) {
      T* windows = space.mine();
      T* out = static_cast<T*>(dw) + group * p.w;
      std::fill_n(out, p.w, T());
      for (int64_t n = 0; n < c.batch; ++n) {
        int64_t i = n * c.groups + group;
        lay_out(c, static_cast<const T*>(x) + i * p.x, windows);
        gemm(type, false, true, p.rows, p.inner, p.places, static_cast<const T*>(g) + i * p.y, p.places, windows,
             p.places, out, p.inner, 1, 1);
      }
    });
  });
}

namespace {

// OpenMP's threads go on looking for work after each loop, for 5 to 15 ms, on the CPUs that our own loops need next.
// libgomp is told to let them sleep sooner, by a variable that it reads when it is loaded, unless the user has.
class LookBriefly {
 public:
  LookBriefly() : set_(!std::getenv("GOMP_SPINCOUNT") && !std::getenv("OMP_WAIT_POLICY")) {
    if (set_) setenv("GOMP_SPINCOUNT", "2000", 1);  // 30 to 100 microseconds
  }
  ~LookBriefly() {
    if (set_) unsetenv("GOMP_SPINCOUNT");
  }

 private:
  bool set_;
};

}  // namespace

namespace {

std::atomic<const OneDnn*> g_onednn{nullptr};

// With the interpreter's lock held: the environment changes for a moment, which threads that hold it may read, and no
// thread of Python's forks meanwhile.
void load_onednn() {
  if (g_onednn) return;
  Dl_info here;
  if (!dladdr(reinterpret_cast<void*>(&plain_conv_forward), &here)) fail("convolution: cannot find weft's own folder");
  std::string path = here.dli_fname;
  path = path.substr(0, path.rfind('/') + 1) + "lib/libweft_onednn.so";
  LookBriefly while_it_is_loaded;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) fail("convolution: cannot load oneDNN, which is part of weft: ", dlerror());
  auto offer = reinterpret_cast<const OneDnn* (*)()>(dlsym(library, "weft_onednn"));
  if (!offer) fail("convolution: ", path, " is not the library that belongs to this weft");
  g_onednn = offer();
}

}  // namespace

void (*g_with_interpreter)(void (*f)()) = [](void (*f)()) { f(); };

const OneDnn* onednn() {
  if (!g_onednn) g_with_interpreter(load_onednn);
  return g_onednn;
}

namespace {

ForkBarrier g_in_onednn(LockOrder::library);  // oneDNN and OpenMP have locks that fork would copy as they are

// Calls f(oneDNN, threads, work space).
template <class F>
void by_onednn(const F& f) {
  std::list<Scratch> spaces;
  auto take = [&](int64_t bytes) { return spaces.emplace_back(bytes).as<void>(); };
  const OneDnn* library = onednn();
  std::shared_lock no_fork(g_in_onednn);
  const char* problem = f(*library, num_openmp_threads(), take);
  if (problem) fail("convolution: oneDNN: ", problem);
}

// Where products over rows of windows are faster than oneDNN's kernels, by measurement: docs/notes/channels_last.md.
bool rows_suit(const Conv& c) {
  constexpr int64_t
      kMost = 4 << 20;  // numbers in the windows of one image: else they need more memory than they are worth
  return c.groups == 1 && c.batch * c.places() >= 128 && c.places() * c.taps() * c.in <= kMost;
}
bool takes_steps(const Conv& c) { return c.taps() > 1 && *std::max_element(c.stride, c.stride + 3) > 1; }
bool many_channels(const Conv& c, int64_t places, int64_t channels) {
  return rows_suit(c) && c.places() <= places && c.in >= channels;
}
bool small(const Conv& c) {
  return c.groups == 1 && c.in >= 4 && c.in <= 8 && c.out <= kDirectChannels && c.pixels() <= 1 << 16;
}
bool few_channels(const Conv& c) {  // for the gradient of the input, which oneDNN writes 16 channels at a time
  bool shrinks = 5 * c.places() <= 3 * c.pixels();
  return rows_suit(c) && c.in <= 8 && c.out >= 16 && (c.out >= 4 * c.in || shrinks);
}

}  // namespace

void conv_forward(const Conv& c, const float* x, const float* w, Ending end, float* y,
                  std::shared_ptr<PackedKernel>* packed) {
  if (depthwise_suits(c)) return depthwise_conv_forward(c, x, w, end, y);
  if (winograd_suits(c)) return winograd_conv_forward(c, x, w, end, y, packed);
  if (joined_suits_forward(c)) return joined_conv_forward(c, x, w, end, y);
  if (many_channels(c, 16, 256)) return rows_conv_forward(c, x, w, end, y);
  if (small(c)) return direct_conv_forward(c, x, w, end, y);
  by_onednn([&](const OneDnn& by, int threads, const auto& space) {
    return by.forward(c, threads, space, x, w, end.bias, y, packed);
  });
  if (end.relu) set_negatives_to_zero(DType::Float, c.batch * c.places(), c.out, y, c.out);
}
void conv_input(const Conv& c, const float* g, const float* w, float* dx) {
  if (depthwise_suits(c)) return depthwise_conv_input(c, g, w, dx);
  if (winograd_suits(c)) return winograd_conv_input(c, g, w, dx);
  if (joined_suits_input(c)) return joined_conv_input(c, g, w, dx);
  bool steps = rows_suit(c) && takes_steps(c) && c.in >= 16 && c.in <= 32;
  if (many_channels(c, 16, 256) || few_channels(c) || steps) return rows_conv_input(c, g, w, dx);
  by_onednn([&](const OneDnn& by, int threads, const auto& space) { return by.input(c, threads, space, g, w, dx); });
}
void conv_weight(const Conv& c, const float* x, const float* g, float* dw) {
  if (depthwise_suits(c)) return depthwise_conv_weight(c, x, g, dw);
  if (winograd_suits(c) && c.in * c.out >= 512) return winograd_conv_weight(c, x, g, dw);
  if (joined_suits_weight(c)) return joined_conv_weight(c, x, g, dw);
  bool steps = rows_suit(c) && takes_steps(c) && c.in >= 16;
  if (many_channels(c, 16, 256) || many_channels(c, 49, 512) || steps) return rows_conv_weight(c, x, g, dw);
  by_onednn([&](const OneDnn& by, int threads, const auto& space) { return by.weight(c, threads, space, x, g, dw); });
}

}  // namespace weft
