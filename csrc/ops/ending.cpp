#include "ops/ending.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "loops/gemm.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, 8> kActivations = {"silu",      "sigmoid", "tanh",      "gelu_erf",
                                                          "gelu_tanh", "mish",    "hardswish", "hardsigmoid"};

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return words;
    words.push_back(text.substr(0, text.find(' ')));
    text.remove_prefix(words.back().size());
  }
}

double number_of(const char* op, std::string_view word) {
  double number = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || std::isnan(number))
    fail_value(op, ": expected a bound, got '", word, "'");
  return number;
}

template <class T>
void add_and_bound(const T* plus, const Bounds& bounds, T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += plus[i];
  if (bounds) apply_bounds(dtype_of<T>, bounds, 1, n, y, n);
}

}  // namespace

Described described(const char* op, std::string_view text) {
  Described d;
  std::vector<std::string_view> words = words_of(text);
  auto word = words.begin();
  auto bounds = [&](Bounds& to) {
    if (word == words.end() || *word != "bounds") return;
    if (words.end() - word < 3) fail_value(op, ": expected two numbers behind 'bounds' in '", text, "'");
    to = {number_of(op, word[1]), number_of(op, word[2])};
    if (to.low > to.high) fail_value(op, ": the lower bound cannot be greater than the upper one in '", text, "'");
    word += 3;
  };
  bounds(d.bounds);
  if (word != words.end() && *word != "add") {
    if (std::find(kActivations.begin(), kActivations.end(), *word) == kActivations.end())
      fail_value(op, ": no ending '", text, "'");
    d.activation = static_cast<const Row*>(Registry::get().find(std::string(*word))->form.row);
    ++word;
  }
  if (word != words.end() && *word == "add") {
    d.adds = true, ++word;
    bounds(d.then);
  }
  if (word != words.end()) fail_value(op, ": no ending '", text, "'");
  return d;
}

void check_added(Call& c, const Described& d, int at, DType type, const Dims& sizes) {
  if (d.adds != c.has(at)) fail_value(c.name(), ": a tensor to add ", d.adds ? "is missing" : "is not expected");
  if (!d.adds) return;
  if (c.tensor(at).dtype() != type || !(c.tensor(at).sizes() == sizes))
    fail(c.name(), ": expected a tensor to add of ", name_of(type), sizes, ", got ", name_of(c.tensor(at).dtype()),
         c.tensor(at).sizes());
}

Finish finish_of(const Described& d, const char* plus, const char* y) {
  Finish f;
  if (d.activation) f.loop = d.activation->forward(DType::Float).all;
  if (!d.adds) return f;
  f.adds = true;
  f.apart = intptr_t(reinterpret_cast<uintptr_t>(plus) - reinterpret_cast<uintptr_t>(y));
  f.bounds = d.then;
  return f;
}

void end_plainly(const Described& d, DType type, const char* plus, char* y, int64_t n) {
  if (d.bounds) apply_bounds(type, d.bounds, 1, n, y, n);
  char* p[2] = {y, y};
  if (d.activation) d.activation->forward(type).all(p, n);
  if (!d.adds) return;
  if (type == DType::Float)
    add_and_bound(reinterpret_cast<const float*>(plus), d.then, reinterpret_cast<float*>(y), n);
  else
    add_and_bound(reinterpret_cast<const double*>(plus), d.then, reinterpret_cast<double*>(y), n);
}

}  // namespace weft
