// Calls of LAPACK and BLAS (OpenBLAS, which weft/linalg/openblas.py finds), for kernels of ops whose forms are written
// in Python (weft/linalg).
//
// LAPACK counts along columns first, so it sees the transpose of a matrix that lies row after row in memory. Where it
// is as fast with that, it is asked for what the transpose needs, and nothing is turned.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/interpreter.h"
#include "loops/parallel.h"
#include "ops/api.h"
#include "ops/held.h"
#include "ops/recording.h"

namespace weft {

// The kernel of an op whose form is written in Python: `static const Kernel k{"linalg_qr", run};`
struct Kernel {
  using Run = void (*)(Call&);
  Kernel(const char* base, Run run);
  static Run find(std::string_view base);  // or null
};

struct LapackHooks {
  void* (*find)(const char* name, DType type) = nullptr;  // throws where it is not there
  void (*use_threads)(int count) = nullptr;
};
extern LapackHooks g_lapack;

// A routine of one dtype. Numbers and letters are handed over by address, as Fortran wants it; LAPACK's `info` comes
// back: 0, or where it gave up. BLAS has none, and does not read the pointer for it.
class BoundRoutine {
 public:
  explicit BoundRoutine(void* function) : function_(function) {}
  template <class... A>
  int32_t operator()(A... args) const {
    int32_t info = 0;
    reinterpret_cast<void (*)(std::conditional_t<true, const void*, A>..., int32_t*)>(function_)(address(args)...,
                                                                                                 &info);
    return info;
  }

 private:
  static const void* address(const char& letter) { return &letter; }
  static const void* address(const int32_t& number) { return &number; }
  template <class T>
  static const void* address(T* const& memory) {
    return memory;
  }
  void* function_;
};

class Routine {
 public:
  constexpr explicit Routine(const char* name) : name_(name) {}
  BoundRoutine of(DType type) {  // with the interpreter's lock
    void*& found = found_[int(type) - int(DType::Float)];
    if (!found) found = g_lapack.find(name_, type);
    return BoundRoutine(found);
  }

 private:
  const char* name_;
  void* found_[4] = {};
};

// Work space, as much as a routine asks for when it is called with a size of -1: `call(work, size)` is that call.
class Work {
 public:
  template <class F>
  Work(DType type, const F& call) {
    alignas(16) char wanted[16] = {};
    call(wanted, int32_t(-1));
    double most = real_of(type) == DType::Float ? double(*reinterpret_cast<float*>(wanted))
                                                : *reinterpret_cast<double*>(wanted);
    size = std::max(int32_t(1), int32_t(most));
    memory_ = std::make_unique_for_overwrite<char[]>(size_t(size) * size_t(item_size(type)));
  }
  char* data() const { return memory_.get(); }
  int32_t size;

 private:
  std::unique_ptr<char[]> memory_;
};

// Uninitialised memory for `count` numbers, at least one.
inline std::unique_ptr<char[]> numbers(int64_t count, DType type) {
  return std::make_unique_for_overwrite<char[]>(size_t(std::max(count, int64_t(1)) * item_size(type)));
}

int32_t narrow(int64_t size);  // LAPACK counts with 32 bits

// Calls f with a zero of the C++ type of t, which is one of LAPACK's four.
template <class F>
void visit_numbers(DType t, const F& f) {
  switch (t) {
    case DType::Float: return f(float());
    case DType::Double: return f(double());
    case DType::ComplexFloat: return f(c64());
    default: return f(c128());
  }
}

// The sizes of a batch of matrices.
struct Matrices {
  int64_t count, rows, columns;  // of matrices, and in each
  explicit Matrices(const Tensor& t) : count(1), rows(t.size(-2)), columns(t.size(-1)) {
    for (int d = 0; d < t.dim() - 2; ++d) count *= t.size(d);
  }
  int64_t size() const { return rows * columns; }
  bool empty() const { return count * rows * columns == 0; }
  int64_t bytes(DType t) const { return size() * item_size(t); }  // of each
};

// Calls f(i) for each of `count` matrices. While they are large, others may use the interpreter; f may not.
template <class F>
void each_matrix(int64_t count, int64_t elements, const F& f) {
  struct Unlocked {
    void* state = interpreter::release_lock();
    ~Unlocked() { interpreter::take_lock(state); }
  };
  g_lapack.use_threads(num_threads());
  std::optional<Unlocked> unlocked;
  if (elements >= kLongMatrix && !t_keeps_lock) unlocked.emplace();
  for (int64_t i = 0; i < count; ++i) {
    if (i) leave_if_interrupted();
    f(i);
  }
}

Tensor turned(const Tensor& t);                        // the transposes, in the same memory
Tensor columns_of(const Tensor& t);                    // a copy of the transposes, without gaps
Tensor expanded(const Tensor& t, const Tensor& like);  // with the batch of `like`
Tensor in_rows(const Tensor& t);                       // without gaps: itself or a copy
Tensor as_int32(const Tensor& t);                      // the same, of int32
void zero_beside(const Tensor& t, bool upper);         // keeps one triangle, with the diagonal; t has no gaps
void conjugate(const Tensor& t);                       // where it lies, if it is complex; t has no gaps
bool is_finite(DType type, const char* data, int64_t count);
void check_pivots(const Tensor& pivots, int64_t rows);  // int32: exchanges are with rows that are there

using Infos = std::vector<int32_t>;  // what LAPACK said of each matrix of a batch
bool failed(const Infos& infos);     // of one

// Raises LinAlgError for the first matrix that LAPACK gave up on; `complaint` is "op: reason".
void refuse_failed(const Infos& infos, int dims, std::string_view complaint);

// x (n, width) without gaps becomes the solution of the triangle `a` (n, n), whose rows have no gaps, or of its
// adjoint.
void solve_with(DType type, const char* a, bool upper, bool unit, bool adjoint, int64_t n, char* x, int64_t width);

}  // namespace weft
