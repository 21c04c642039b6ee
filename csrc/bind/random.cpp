// weft.Generator, and the default one.
#include "core/generator.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <array>
#include <cstring>

#include "bind/args.h"

namespace weft {

namespace {

// Seeds are 64 bits, with or without sign, as Python ints.
uint64_t read_seed(nb::handle o) {
  PyObject* number = PyNumber_Index(o.ptr());
  if (!number) throw PythonError();
  nb::object keep = nb::steal(number);
  int overflow = 0;
  long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow == 0) {
    if (value == -1 && PyErr_Occurred()) throw PythonError();
    return uint64_t(value);
  }
  unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(number) : 0;
  if (overflow < 0 || PyErr_Occurred()) {
    PyErr_Clear();
    fail_value(
        "manual_seed: Overflow when unpacking long: expected a value in [-0x8000_0000_0000_0000, "
        "0xffff_ffff_ffff_ffff]");
  }
  return large;
}

Tensor state_tensor(const Generator& g) {
  if (g.stream() == Generator::Stream::Torch) {
    Tensor t = empty(Dims{MersenneTwister::kStateBytes}, DType::UInt8);
    std::memset(t.data(), 0, MersenneTwister::kStateBytes);
    g.write_torch_state(t.data());
    return t;
  }
  Generator::State state = g.state();
  Tensor t = empty(Dims{int64_t(sizeof state)}, DType::UInt8);
  std::memcpy(t.data(), &state, sizeof state);
  return t;
}

void set_state(Generator& g, const Tensor& t) {
  Generator::State state;
  if (!t || t.dtype() != DType::UInt8) fail_type("set_state: expected a uint8 tensor, as get_state gives");
  if (t.numel() == MersenneTwister::kStateBytes && t.contiguous()) {
    if (t_recorder) t_recorder->lost("setting the state of a generator");
    if (!g.set_torch_state(t.data())) fail("set_state: these bytes are no state of PyTorch's generator");
    return;
  }
  if (t.numel() != int64_t(sizeof state) || !t.contiguous())
    fail("set_state: RNG state is wrong size: got ", t.numel(), " bytes, want ", sizeof state, ", or PyTorch's ",
         MersenneTwister::kStateBytes);
  std::memcpy(&state, t.data(), sizeof state);
  if (t_recorder && !(g.state() == state)) t_recorder->lost("setting the state of a generator");
  g.set_state(state);
}

}  // namespace

Generator& interpreter::generator_of(Opaque* argument) {
  nb::handle object(static_cast<PyOpaque*>(argument)->object);
  Generator* g = nullptr;
  if (!nb::try_cast<Generator*>(object, g) || !g)
    fail_type("generator must be a weft.Generator or None, not ", Py_TYPE(object.ptr())->tp_name);
  return *g;
}

void bind_random(nb::module_& m) {
  nb::class_<Generator> c(m, "Generator", "A source of random numbers: what follows from a seed is always the same.");
  c.def(nb::init<>());
  c.def(
      "__init__",
      [](Generator* g, nb::handle device) {
        std::string name = nb::cast<std::string>(nb::str(device));
        if (name.rfind("cpu", 0) != 0) fail("Generator: device '", name, "' is not there; what weft has is 'cpu'");
        new (g) Generator();
      },
      nb::arg("device"));
  c.def(
      "manual_seed",
      [](nb::object self, nb::handle seed) {
        if (t_recorder) t_recorder->lost("manual_seed()");
        nb::cast<Generator&>(self).restart(read_seed(seed));
        return self;
      },
      nb::arg("seed"), "Start anew from a seed, and return the generator.");
  c.def(
      "seed",
      [](Generator& g) {
        if (t_recorder) t_recorder->lost("seed()");
        g.restart(random_seed());
        return g.seed();
      },
      "Start anew from a seed that the operating system gives, and return it.");
  c.def("initial_seed", &Generator::seed, "Return the seed.");
  c.def("get_state", state_tensor, "Return the state, as a uint8 tensor.");
  c.def("set_state", set_state, nb::arg("new_state"), "Go back to a state that get_state gave.");
  c.def("clone_state", [](const Generator& g) { return Generator(g); }, "Return a generator in the same state.");
  c.def_prop_ro("device", [](const Generator&) { return nb::module_::import_("weft").attr("device")("cpu"); });
  c.def("__getstate__", [](const Generator& g) -> nb::object {
    if (g.stream() == Generator::Stream::Weft) return nb::cast(std::make_pair(g.state().seed, g.state().counter));
    std::array<char, MersenneTwister::kStateBytes> bytes{};
    g.write_torch_state(bytes.data());
    return nb::bytes(bytes.data(), bytes.size());
  });
  c.def("__setstate__", [](Generator& g, nb::object s) {
    new (&g) Generator();
    nb::bytes bytes;
    if (!nb::try_cast(s, bytes)) {
      auto [seed, counter] = nb::cast<std::pair<uint64_t, uint64_t>>(s);
      return g.set_state({seed, counter});
    }
    if (int64_t(bytes.size()) != MersenneTwister::kStateBytes || !g.set_torch_state(bytes.c_str()))
      fail("Generator: these bytes are no state of PyTorch's generator");
  });
  // The stream of the default generator, which starts again from its seed, and of those made from now on.
  m.def("_use_stream", [](const std::string& name) {
    if (name != "weft" && name != "torch") fail_value("use: stream must be 'weft' or 'torch', got '", name, "'");
    if (t_recorder) t_recorder->lost("random.use()");
    auto stream = name == "torch" ? Generator::Stream::Torch : Generator::Stream::Weft;
    Generator::set_default_stream(stream);
    default_generator().restart(default_generator().seed(), stream);
  });
  m.def("_stream", [] { return Generator::default_stream() == Generator::Stream::Torch ? "torch" : "weft"; });
  m.attr("default_generator") = nb::cast(&default_generator(), nb::rv_policy::reference);
}

}  // namespace weft
