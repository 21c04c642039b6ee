"""What one call costs: tiny tensors, with and without gradient, and a chain there and back.

The arithmetic on a 4x4 tensor takes a few nanoseconds, so these rows time the way to it.
Budgets: at least 4x faster than PyTorch for a single op, 8x for the chain.
"""

from __future__ import annotations

from typing import Any

from bench.harness import MEANS, Mean, Row, Setup, Stmt, register

OP = {"torch": 4.0}
CHAIN = {"torch": 8.0}
JAX_MODES = {"jax": ("jit", "op by op")}
#: Statements over 4x4 tensors a and b: name, PyTorch (and weft), JAX, NumPy, whether budgeted.
OPS: tuple[tuple[str, str, str | None, str | None, bool], ...] = (
    ("add", "a + b", "a + b", "a + b", True),
    ("mul", "a * b", "a * b", "a * b", True),
    ("matmul", "a @ b", "a @ b", "a @ b", True),
    ("sum", "a.sum()", "a.sum()", "a.sum()", True),
    ("index", "a[1]", "a[1]", "a[1]", True),
    ("add_scalar", "a + 2.0", "a + 2.0", "a + 2.0", False),
    ("mul_scalar", "a * 2.0", "a * 2.0", "a * 2.0", False),
    ("rsub_scalar", "1.0 - a", "1.0 - a", "1.0 - a", False),
    ("neg", "-a", "-a", "-a", False),
    ("tanh", "a.tanh()", "jnp.tanh(a)", "np.tanh(a)", False),
    ("compare", "a > b", "a > b", "a > b", False),
    ("slice", "a[:, 1:3]", "a[:, 1:3]", "a[:, 1:3]", False),
    ("view", "a.view(16)", "a.reshape(16)", "a.reshape(16)", False),
    ("reshape", "a.reshape(2, 8)", "a.reshape(2, 8)", "a.reshape(2, 8)", False),
    ("transpose", "a.t()", "a.T", "a.T", False),
    ("sum_dim", "a.sum(-1)", "a.sum(-1)", "a.sum(-1)", False),
    ("cat", "cat((a, b))", "jnp.concatenate((a, b))", "np.concatenate((a, b))", False),
    ("softmax", "a.softmax(-1)", "jax.nn.softmax(a)", None, False),
)
#: Only without gradient: creation, leaving the graph, and change in place.
PLAIN: tuple[tuple[str, str, str | None], ...] = (
    ("tensor_from_list", "tensor([1.0, 2.0, 3.0])", "np.array([1.0, 2.0, 3.0])"),
    ("zeros", "zeros(4, 4)", "np.zeros((4, 4), np.float32)"),
    ("empty", "empty(4, 4)", "np.empty((4, 4), np.float32)"),
    ("item", "s.item()", "s.item()"),
    ("numpy", "a.numpy()", None),
    ("add_in_place", "a.add_(z)", "np.add(a, z, out=a)"),
    ("set_row", "a[1] = 2.0", "a[1] = 2.0"),
    ("shape", "a.shape", "a.shape"),
)


def tiny(statement: str, grad: bool) -> Setup:
    """Time ``statement`` over 4x4 tensors ``a`` and ``b``, a 0-d ``s`` and zeros ``z``."""

    def setup(lib: Any, mode: str) -> Stmt:
        a = lib.linspace(0.1, 1.6, 16).reshape(4, 4).clone().requires_grad_(grad)
        b = lib.linspace(1.6, 0.1, 16).reshape(4, 4).clone().requires_grad_(grad)
        names = {"a": a, "b": b, "s": lib.ones(()), "z": lib.zeros(4, 4)}
        for function in ("tensor", "zeros", "empty", "cat"):
            names[function] = getattr(lib, function)
        return Stmt(statement, names)

    return setup


def tiny_jax(expression: str) -> Setup:
    """The same in JAX, compiled or op by op; a call ends when its result is there."""

    def setup(lib: Any, mode: str) -> Stmt:
        import jax.numpy as jnp

        a = jnp.linspace(0.1, 1.6, 16, dtype="float32").reshape(4, 4)
        names = {"a": a, "b": a[::-1, ::-1], "jnp": jnp, "jax": lib}
        if mode == "jit":
            names["f"] = lib.jit(eval(f"lambda a, b: {expression}", {"jnp": jnp, "jax": lib}))
            return Stmt("f(a, b).block_until_ready()", names)
        return Stmt(f"({expression}).block_until_ready()", names)

    return setup


def tiny_numpy(statement: str) -> Setup:
    """The same in NumPy, as a reference for what a call costs without any gradient."""

    def setup(lib: Any, mode: str) -> Stmt:
        a = lib.linspace(0.1, 1.6, 16, dtype=lib.float32).reshape(4, 4)
        names = {"a": a, "b": a[::-1, ::-1].copy(), "np": lib}
        return Stmt(statement, {**names, "s": lib.ones(()), "z": lib.zeros_like(a)})

    return setup


def chain(both: bool, backward: bool = True) -> Setup:
    """20 times ``y = (y*b).tanh()``, then ``y.sum().backward()``: 41 ops there and back."""

    def setup(lib: Any, mode: str) -> Stmt:
        x = lib.linspace(0.1, 1.6, 16).reshape(4, 4).clone().requires_grad_()
        b = lib.linspace(1.6, 0.1, 16).reshape(4, 4).clone().requires_grad_(both)
        end = ".backward()" if backward else ""
        source = f"y = x\nfor _k in steps:\n    y = (y * b).tanh()\ny.sum(){end}"
        return Stmt(source, {"x": x, "b": b, "steps": range(20)})

    return setup


def chain_jax(both: bool) -> Setup:
    """The chain as JAX differentiates it, compiled as a whole."""

    def setup(lib: Any, mode: str) -> Stmt:
        import jax.numpy as jnp

        def forward(y: Any, b: Any) -> Any:
            for _ in range(20):
                y = jnp.tanh(y * b)
            return y.sum()

        x = jnp.linspace(0.1, 1.6, 16, dtype="float32").reshape(4, 4)
        step = lib.jit(lib.value_and_grad(forward, argnums=(0, 1) if both else 0))
        names = {"f": step, "x": x, "b": x[::-1, ::-1], "wait": lib.block_until_ready}
        return Stmt("wait(f(x, b))", names)

    return setup


def _declare() -> None:
    for name, statement, in_jax, in_numpy, budgeted in OPS:
        budget = OP if budgeted else {}
        setups: dict[str, Setup] = {"torch": tiny(statement, grad=False)}
        if in_jax:
            setups["jax"] = tiny_jax(in_jax)
        if in_numpy:
            setups["numpy"] = tiny_numpy(in_numpy)
        register(Row("dispatch", "plain", name, setups, modes=JAX_MODES, budget=budget))
        setups = {"torch": tiny(statement, grad=True)}
        register(Row("dispatch", "grad", name, setups, budget=budget))
    for name, statement, in_numpy in PLAIN:
        setups = {"torch": tiny(statement, grad=False)}
        if in_numpy:
            setups["numpy"] = tiny_numpy(in_numpy)
        register(Row("dispatch", "plain", name, setups))
    for name, statement in (("detach", "a.detach()"), ("sum_backward", "a.sum().backward()")):
        register(Row("dispatch", "grad", name, {"torch": tiny(statement, grad=True)}))
    jit = {"jax": ("jit",)}
    for name, both in (("20_mul_tanh", False), ("20_mul_tanh_both", True)):
        setups = {"torch": chain(both), "jax": chain_jax(both)}
        register(Row("dispatch", "chain", name, setups, modes=jit, budget=CHAIN))
    setups = {"torch": chain(True, backward=False)}
    register(Row("dispatch", "chain", "20_mul_tanh_forward", setups))
    # What provenance and counters cost: the same weft against a build without them (-> README).
    for name, setup in (
        ("add", tiny("a + b", grad=True)),
        ("mul", tiny("a * b", grad=True)),
        ("matmul", tiny("a @ b", grad=True)),
        ("sum", tiny("a.sum()", grad=True)),
        ("index", tiny("a[1]", grad=True)),
        ("add_plain", tiny("a + b", grad=False)),
        ("20_mul_tanh", chain(True)),
    ):
        register(Row("provenance", "provenance", name, {"weft": setup, "bare": setup}))
    MEANS["provenance/provenance"] = Mean("bare", 1 / 1.05)  # the mean cost is under 5%
    for group in ("plain", "grad", "chain"):
        MEANS[f"dispatch/{group}"] = Mean("torch", None)


_declare()
