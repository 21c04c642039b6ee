// Convolutions by oneDNN: a library of its own beside the module, loaded with the first convolution (loops/conv.cpp).
#include <omp.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>

#include "loops/conv.h"
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace weft {
namespace {

using dnnl::memory;
using dnnl::prop_kind;
using Desc = memory::desc;
constexpr auto kFloat = memory::data_type::f32;
constexpr auto kDirect = dnnl::algorithm::convolution_direct;
constexpr size_t kMost = 512;  // kernels kept ready; then all are let go, and made again as needed

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

enum class Kind : int64_t { forward, forward_bias, input, weight };

// A kernel made ready for one shape, with the layouts it wants.
struct Ready {
  dnnl::primitive run;
  Desc x, w, y, scratch;
};

memory::dims dims_of(int64_t first, int64_t second, const int64_t* sizes, int64_t n) {
  memory::dims d{first, second};
  d.insert(d.end(), sizes, sizes + n);
  return d;
}
memory::dims list_of(const int64_t* v, int64_t n, int64_t less = 0) {
  memory::dims d(v, v + n);
  for (auto& each : d) each -= less;
  return d;
}

// Layouts: as the shape says, channels last, and left to oneDNN.
struct Shapes {
  memory::dims x, w, y;
  explicit Shapes(const Conv& c)
      : x(dims_of(c.batch, c.in, c.size, c.dims)), y(dims_of(c.batch, c.out, c.result, c.dims)) {
    w = dims_of(c.out / c.groups, c.in / c.groups, c.kernel, c.dims);
    if (c.groups > 1)
      w.insert(w.begin(), c.groups);
    else
      w[0] = c.out;
  }
  static Desc plain(const memory::dims& d) {
    memory::dims strides(d.size(), 1);
    for (size_t i = d.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * d[i];
    return Desc(d, kFloat, strides);
  }
  static Desc last(const memory::dims& d) {
    memory::dims strides(d.size(), 1);
    memory::dim step = d[1];
    for (size_t i = d.size() - 1; i > 1; --i) strides[i] = step, step *= d[i];
    strides[0] = step;
    return Desc(d, kFloat, strides);
  }
  static Desc any(const memory::dims& d) { return Desc(d, kFloat, memory::format_tag::any); }
};

struct Steps {
  memory::dims stride, dilation, before, after;  // dilation as oneDNN counts it; padding on both sides
  explicit Steps(const Conv& c)
      : stride(list_of(c.stride, c.dims)),
        dilation(list_of(c.dilation, c.dims, 1)),
        before(list_of(c.pad, c.dims)),
        after(before) {
    for (int64_t i = 0; i < c.dims; ++i) {
      int64_t reach = (c.result[i] - 1) * c.stride[i] + (c.kernel[i] - 1) * c.dilation[i] + 1;
      after[size_t(i)] = reach - c.size[i] - c.pad[i];
    }
  }
};

using Layout = Desc (*)(const memory::dims&);  // of images

dnnl::convolution_forward::primitive_desc forward_of(const Conv& c, bool bias, Layout image,
                                                     const dnnl::primitive_attr& attr) {
  Shapes s(c);
  Steps t(c);
  Desc x = image(s.x), w = Shapes::any(s.w), y = image(s.y), b({c.out}, kFloat, memory::dims{1});
  if (bias)
    return {engine(), prop_kind::forward_training, kDirect, x, w, b, y, t.stride, t.dilation, t.before, t.after, attr};
  return {engine(), prop_kind::forward_training, kDirect, x, w, y, t.stride, t.dilation, t.before, t.after, attr};
}

// Kernels that oneDNN wrote for no particular machine are slower by far than a change of layout.
bool is_slow(const char* name) { return std::strstr(name, "ref") != nullptr; }

bool make(const Conv& c, Kind kind, Layout image, Ready* ready) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // the same kernel may run on several threads at once
  auto forward = forward_of(c, kind == Kind::forward_bias, image, attr);
  Shapes s(c);
  Steps t(c);
  Desc x = image(s.x), w = Shapes::any(s.w), y = image(s.y);
  if (kind == Kind::forward || kind == Kind::forward_bias) {
    *ready = {dnnl::convolution_forward(forward), forward.src_desc(), forward.weights_desc(), forward.dst_desc(),
              forward.scratchpad_desc()};
    return !is_slow(forward.impl_info_str());
  }
  if (kind == Kind::input) {
    dnnl::convolution_backward_data::primitive_desc pd(engine(), kDirect, x, w, y, t.stride, t.dilation, t.before,
                                                       t.after, forward, attr);
    *ready = {dnnl::convolution_backward_data(pd), pd.diff_src_desc(), pd.weights_desc(), pd.diff_dst_desc(),
              pd.scratchpad_desc()};
    return !is_slow(pd.impl_info_str());
  }
  dnnl::convolution_backward_weights::primitive_desc pd(engine(), kDirect, x, w, y, t.stride, t.dilation, t.before,
                                                        t.after, forward, attr);
  *ready = {dnnl::convolution_backward_weights(pd), pd.src_desc(), pd.diff_weights_desc(), pd.diff_dst_desc(),
            pd.scratchpad_desc()};
  return !is_slow(pd.impl_info_str());
}

// The kernel for channels last, else the one for whatever layout oneDNN has a fast one for.
std::shared_ptr<Ready> make(const Conv& c, Kind kind) {
  auto ready = std::make_shared<Ready>();
  for (Layout image : {Shapes::last, Shapes::any, Shapes::plain}) {
    try {
      if (make(c, kind, image, ready.get())) return ready;
    } catch (const dnnl::error&) {
    }
  }
  make(c, kind, Shapes::last, ready.get());
  return ready;
}

std::shared_ptr<Ready> find(const Conv& c, Kind kind, int threads) {
  static std::mutex lock;
  static std::unordered_map<std::string, std::shared_ptr<Ready>> known;
  std::string key(sizeof(Conv) + 2 * sizeof(int64_t), '\0');
  int64_t more[2] = {int64_t(kind), threads};
  std::memcpy(key.data(), &c, sizeof(Conv));
  std::memcpy(key.data() + sizeof(Conv), more, sizeof more);
  std::lock_guard<std::mutex> hold(lock);
  auto at = known.find(key);
  if (at != known.end()) return at->second;
  if (known.size() >= kMost) known.clear();
  return known[key] = make(c, kind);
}

using WorkSpace = OneDnn::WorkSpace;

void* take(const WorkSpace& space, size_t bytes) { return bytes ? space(int64_t(bytes)) : nullptr; }

// Memory in the layout a kernel wants: the caller's own where that is the one, else a copy.
class Operand {
 public:
  Operand(const Desc& given, const Desc& wanted, const float* data, const WorkSpace& space)
      : user_(given, engine(), const_cast<float*>(data)) {
    used_ = wanted == given ? user_ : memory(wanted, engine(), take(space, wanted.get_size()));
  }
  void read(dnnl::stream& s) {
    if (used_.get() != user_.get()) dnnl::reorder(user_, used_).execute(s, user_, used_);
  }
  void write(dnnl::stream& s) {
    if (used_.get() != user_.get()) dnnl::reorder(used_, user_).execute(s, used_, user_);
  }
  const memory& used() const { return used_; }

 private:
  memory user_, used_;
};

struct Packed final : PackedKernel {
  std::shared_ptr<Ready> by;  // whose layout it has
  memory kernel;
};

// The kernel in the layout that `ready` wants; taken from `packed`, or left there.
memory packed_kernel(const std::shared_ptr<Ready>& ready, const Desc& given, const float* w,
                     std::shared_ptr<PackedKernel>* packed, dnnl::stream& stream) {
  auto known = std::dynamic_pointer_cast<Packed>(*packed);  // another loop may have packed it
  if (!known || known->by != ready) {
    known = std::make_shared<Packed>();
    known->by = ready;
    known->kernel = memory(ready->w, engine());
    memory user(given, engine(), const_cast<float*>(w));
    dnnl::reorder(user, known->kernel).execute(stream, user, known->kernel);
    *packed = known;
  }
  return known->kernel;
}

// Lets OpenMP's threads round, and do with tiny numbers, as this one does.
void set_arithmetic([[maybe_unused]] int threads) {
#if defined(__SSE2__)
  thread_local unsigned last = 0x1f80;  // what a process begins with
  thread_local int last_threads = 0;
  unsigned mode = _mm_getcsr() & ~0x3fu;  // without the flags of what has happened
  if (mode == last && threads == last_threads) return;
  last = mode, last_threads = threads;
#pragma omp parallel num_threads(threads)
  _mm_setcsr(mode);
#endif
}

const char* run(const Conv& c, Kind kind, int threads, const WorkSpace& space, const float* x, const float* w,
                const float* bias, const float* y, std::shared_ptr<PackedKernel>* packed) {
  struct Threads {
    int before = omp_get_max_threads();
    ~Threads() { omp_set_num_threads(before); }
  } of_caller;
  omp_set_num_threads(threads);
  set_arithmetic(threads);
  const char* problem = nullptr;
  try {
    auto ready = find(c, kind, threads);
    dnnl::stream stream(engine());
    Shapes s(c);
    Desc plain_w = Shapes::plain(s.w);
    Operand image(Shapes::last(s.x), ready->x, x, space), kernel(plain_w, ready->w, w, space),
        result(Shapes::last(s.y), ready->y, y, space);
    memory scratch(ready->scratch, engine(), take(space, ready->scratch.get_size()));
    std::unordered_map<int, memory> given{{DNNL_ARG_SCRATCHPAD, scratch}};
    switch (kind) {
      case Kind::forward_bias:
        given[DNNL_ARG_BIAS] = memory(Desc({c.out}, kFloat, memory::dims{1}), engine(), const_cast<float*>(bias));
        [[fallthrough]];
      case Kind::forward:
        image.read(stream);
        if (!packed) kernel.read(stream);
        given[DNNL_ARG_SRC] = image.used(), given[DNNL_ARG_DST] = result.used(),
        given[DNNL_ARG_WEIGHTS] = packed ? packed_kernel(ready, plain_w, w, packed, stream) : kernel.used();
        ready->run.execute(stream, given);
        result.write(stream);
        break;
      case Kind::input:
        result.read(stream), kernel.read(stream);
        given[DNNL_ARG_DIFF_DST] = result.used(), given[DNNL_ARG_WEIGHTS] = kernel.used(),
        given[DNNL_ARG_DIFF_SRC] = image.used();
        ready->run.execute(stream, given);
        image.write(stream);
        break;
      case Kind::weight:
        result.read(stream), image.read(stream);
        given[DNNL_ARG_DIFF_DST] = result.used(), given[DNNL_ARG_SRC] = image.used(),
        given[DNNL_ARG_DIFF_WEIGHTS] = kernel.used();
        ready->run.execute(stream, given);
        kernel.write(stream);
        break;
    }
    stream.wait();
  } catch (const dnnl::error& e) {
    problem = e.status == dnnl_out_of_memory ? "no memory left" : "it has no kernel for these sizes";
  }
  return problem;
}

const char* forward(const Conv& c, int threads, const WorkSpace& space, const float* x, const float* w,
                    const float* bias, float* y, std::shared_ptr<PackedKernel>* packed) {
  return run(c, bias ? Kind::forward_bias : Kind::forward, threads, space, x, w, bias, y, packed);
}
const char* input(const Conv& c, int threads, const WorkSpace& space, const float* g, const float* w, float* dx) {
  return run(c, Kind::input, threads, space, dx, w, nullptr, g, nullptr);
}
const char* weight(const Conv& c, int threads, const WorkSpace& space, const float* x, const float* g, float* dw) {
  return run(c, Kind::weight, threads, space, x, dw, nullptr, g, nullptr);
}

const OneDnn kOffer = {forward, input, weight};

}  // namespace
}  // namespace weft

extern "C" __attribute__((visibility("default"))) const weft::OneDnn* weft_onednn() { return &weft::kOffer; }
