// weft.Generator, and the default one.
#include "core/generator.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

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
  Generator::State state = g.state();
  Tensor t = empty(Dims{int64_t(sizeof state)}, DType::UInt8);
  std::memcpy(t.data(), &state, sizeof state);
  return t;
}

void set_state(Generator& g, const Tensor& t) {
  Generator::State state;
  if (!t || t.dtype() != DType::UInt8) fail_type("set_state: expected a uint8 tensor, as get_state gives");
  if (t.numel() != int64_t(sizeof state) || !t.contiguous())
    fail("set_state: RNG state is wrong size: got ", t.numel(), " bytes, want ", sizeof state);
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
  c.def("__getstate__", [](const Generator& g) { return std::make_pair(g.state().seed, g.state().counter); });
  c.def("__setstate__", [](Generator& g, std::pair<uint64_t, uint64_t> s) {
    new (&g) Generator();
    g.set_state({s.first, s.second});
  });
  m.attr("default_generator") = nb::cast(&default_generator(), nb::rv_policy::reference);
}

}  // namespace weft
