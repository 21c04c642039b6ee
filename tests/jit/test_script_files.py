"""Programs in files: they run without their source, and hostile ones do nothing."""

from __future__ import annotations

import contextlib
import io
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jit.script_modules import Mlp, Net, made
from jit.script_programs import CASES, calls, helper

import weft
from weft import jit, nn
from weft.jit.script import tree
from weft.jit.script.data import from_json, to_json
from weft.serialization import FileError

KINDS = [type(m).__name__ for m, _ in made()]


def flat(x: Any) -> list[Any]:
    """The numbers of all tensors in a result."""
    if isinstance(x, weft.Tensor):
        return [x.tolist()]
    return [v for part in (x.values() if isinstance(x, dict) else x) for v in flat(part)]


def stored(x: Any) -> io.BytesIO:
    """A file of ``jit.save``."""
    file = io.BytesIO()
    jit.save(x, file)
    return io.BytesIO(file.getvalue())


@pytest.mark.parametrize("number", range(len(KINDS)), ids=KINDS)
def test_modules_come_back(number: int) -> None:
    """Scripted, traced and frozen: results, state, modes, gradients."""
    module, inputs = made()[number]
    module.eval()
    ways = [jit.script(module), jit.trace(module, inputs)]
    for saved in (*ways, *map(jit.freeze, ways)):
        drawn = weft.get_rng_state().tolist()
        loaded = jit.load(stored(saved))
        assert weft.get_rng_state().tolist() == drawn
        assert type(loaded).__name__ == type(saved).__name__ and not loaded.training
        assert list(loaded.state_dict()) == list(saved.state_dict())
        assert [p.requires_grad for p in loaded.parameters()] == [
            p.requires_grad for p in saved.parameters()
        ]
        assert flat(loaded(*inputs)) == flat(saved(*inputs))
        again = jit.load(stored(loaded))  # what was loaded can be saved
        assert flat(again(*inputs)) == flat(loaded(*inputs))


def test_tied_weights_and_attributes_come_back() -> None:
    """Shared parameters stay shared, attributes and methods work."""
    net = jit.load(stored(jit.script(Net())))
    assert net.heads["a"].weight is net.heads["b"].weight and len(list(net.parameters())) == 13
    mlp = jit.load(stored(jit.script(Mlp()).eval()))
    mlp(weft.ones(1, 3))
    assert mlp.calls == 1 and mlp.describe() == "1 calls of width 4" and mlp.width == 4
    traced = jit.load(stored(jit.trace(helper, weft.ones(2))))
    assert traced(weft.arange(2.0)).tolist() == [0.0, 2.0]


OTHER = """
import sys, weft
module, function = weft.jit.load(sys.argv[1]), weft.jit.load(sys.argv[2])
x, wanted = weft.load(sys.argv[3])
out = module(x)
assert out.tolist() == wanted.tolist()
out.sum().backward()
assert all(p.grad is not None for p in module.parameters())
try:
    function(weft.ones(2, 2), -1)
except AssertionError as e:
    assert "n is -1" in str(e) and 'assert n > 0, f"n is {n}"' in str(e)
print(function.code.splitlines()[0], "script_modules" in sys.modules)
"""


def test_runs_without_the_source(tmp_path: Path) -> None:
    """A fresh process that cannot import the model's classes."""
    module = Mlp().eval()
    x = weft.randn(2, 3)
    paths = [tmp_path / name for name in ("module", "function", "data")]
    jit.script(module).save(paths[0])
    jit.save(jit.script({f.__name__: f for f, _ in CASES}["checks"]), str(paths[1]))
    weft.save([x, module(x)], paths[2])
    done = subprocess.run(
        [sys.executable, "-c", OTHER, *map(str, paths)], capture_output=True, text=True,
        cwd=Path(weft.__file__).parents[1], timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "def checks(x: Tensor, n: int) -> Tensor: False\n"


FORMAT = """
Const value; Dots; Known name; Var name; Member of name; Named name value; Call name args named
CallFunction name args named; CallPython name args named; CallMethod of name args named
CallValue of args named; Fork call; Starred value; Unary op value; Binary op left right
Compare left ops rights; Logic op values; Conditional test value other; Items kind items
Pairs keys values; Each target items tests; Made key value each; Index of index
Slice lower upper step; Format value conversion spec; Joined parts_; OfType value types
Typed type value; Assign targets value type; Update target op value; Declare name type
Branch test body; If branches other; For target items body; While test body; With mode value body
Break; Continue; Return value; Assert test message; Raise error message; Delete target; Do value
Parameter name type default named_only
Function name method parameters returns body file first lines types
"""


def test_the_format_stays() -> None:
    """Files name nodes and order fields as version 1 does; a function that it wrote is read and runs."""
    nodes = {name: " ".join([name, *list(cls.kinds)[1:]]) for name, cls in tree.NODES.items()}
    assert sorted(nodes.values()) == sorted(FORMAT.strip().replace("\n", "; ").split("; "))
    text = (Path(__file__).parent / "script_version_1.json").read_text()
    function = from_json(text, "version 1")
    assert json.loads(to_json(function)) == json.loads(text)
    assert {type(node).__name__ for node in function.walk()} >= {"Made", "Fork", "Joined", "Typed"}
    file = io.BytesIO()
    program = {
        "format": "weft program",
        "version": 1,
        "modules": [],
        "programs": [{"pinned": text}],
    }
    weft.save({**program, "function": [0, "pinned"]}, file)
    total, rest = jit.load(io.BytesIO(file.getvalue()))(weft.ones(2, 2), 2)
    assert total.item() == pytest.approx(4 * math.pi) and rest == [2j, math.inf]


@jit.ignore
def in_python(x):  # type: ignore[no-untyped-def]
    return x


def uses_python(x):  # type: ignore[no-untyped-def]
    return in_python(x)


def test_what_cannot_be_saved() -> None:
    """Python functions, plain modules, changed layers, layers with hooks."""
    scripted = jit.script(uses_python)
    assert scripted(weft.ones(1)).tolist() == [1.0]
    with pytest.raises(ValueError, match="calls Python's in_python"):
        stored(scripted)
    with pytest.raises(TypeError, match=r"takes what jit\.script or jit\.trace returned"):
        stored(nn.Linear(1, 1))
    drop = nn.Dropout(0.5)
    drop.p = 0.25
    with pytest.raises(ValueError, match=r"p is 0\.25, but it was made with 0\.5"):
        stored(jit.script(nn.Sequential(drop)))
    hooked = nn.Linear(1, 1)
    hooked.register_forward_hook(lambda *args: None)
    with pytest.raises(ValueError, match="has hooks"):
        stored(jit.script(nn.Sequential(hooked)))
    with pytest.raises(NotImplementedError, match="_extra_files"):
        jit.save(jit.script(helper), io.BytesIO(), {"a": "b"})
    with pytest.raises(FileError, match=r"not a file of jit\.save"):
        file = io.BytesIO()
        weft.save([1], file)
        jit.load(io.BytesIO(file.getvalue()))


# ---- hostile files ------------------------------------------------------------------------------


GOOD: list[bytes] = []


def content() -> Any:
    """What a good file holds."""
    if not GOOD:
        GOOD.append(stored(jit.script(Mlp())).getvalue())
    return weft.load(io.BytesIO(GOOD[0]))


def refused(changed: Any) -> str:
    """What is said of a file that holds this."""
    file = io.BytesIO()
    weft.save(changed, file)
    with pytest.raises(FileError) as caught:
        jit.load(io.BytesIO(file.getvalue()))
    return str(caught.value)


def function_with(*body: Any, method: bool = False, name: str = "f") -> str:
    """A function of a file, with these statements."""
    return json.dumps(["Function", [1, 0, 0], name, method, [], "", list(body), "f.py", 1, [], {}])


def program_with(*body: Any) -> Any:
    """A file with one function of these statements."""
    base = {"format": "weft program", "version": 1, "modules": []}
    return {**base, "programs": [{"f": function_with(*body)}], "function": [0, "f"]}


AT = [1, 0, 0]
ONE = ["Const", AT, 1]


def do(expression: Any) -> Any:
    """An expression as a statement."""
    return ["Do", AT, expression]


EVIL: list[Any] = [
    do(["Call", AT, "eval", [ONE], []]),
    do(["Call", AT, "os.system", [ONE], []]),
    do(["Call", AT, "weft.load", [ONE], []]),
    do(["Call", AT, "weft.jit.load", [ONE], []]),
    do(["Call", AT, "weft.ops.weft.load", [ONE], []]),
    do(["Call", AT, "weft._C._call_op", [ONE], []]),
    do(["Call", AT, "weft.nn.functional.weft", [ONE], []]),
    do(["Call", AT, "math.__loader__", [ONE], []]),
    do(["Call", AT, "getattr", [ONE], []]),
    do(["Call", AT, "__import__", [ONE], []]),
    do(["CallPython", AT, "f", [], []]),
    do(["CallFunction", AT, "g", [], []]),
    do(["Member", AT, ONE, "__class__"]),
    do(["CallMethod", AT, ONE, "__reduce__", [], []]),
    do(["Known", AT, "weft.nn"]),
    do(["Var", AT, "__builtins__"]),
    do(["Var", AT, "x"]),
    do(["Binary", AT, "import", ONE, ONE]),
    do(["Compare", AT, ONE, ["<"], []]),
    do(["Typed", AT, "Exploit", ONE]),
    do(["Fork", AT, ONE]),
    do(["Starred", AT, ONE]),
    do(["Named", AT, "x", ONE]),
    do(["Const", AT, {"a": 1}]),
    do(["Const", [1, 2], 1]),
    do(["Unknown", AT]),
    do(["Const", AT]),
    do(None),
    ["Raise", AT, "SystemExit", None],
    ["With", AT, "open", None, []],
    ["Assign", AT, [ONE], ONE, ""],
    ["For", AT, ONE, ONE, []],
    ["Break", AT],
    ["Expr", AT],
    ["If", AT, [], []],
    "x",
]


@pytest.mark.parametrize("number", range(len(EVIL)))
def test_evil_nodes_are_refused(number: int) -> None:
    """Names that are code, private attributes, nodes that are none."""
    assert "f" in refused(program_with(EVIL[number]))


def test_reading_attributes_is_limited_while_running() -> None:
    """Names that pass are held to the values that they meet."""
    for body, said in [
        (do(["Member", AT, ONE, "real"]), "may not read 'real' of a int"),
        (do(["CallMethod", AT, ONE, "to_bytes", [], []]), "a int has no method 'to_bytes'"),
        (do(["CallMethod", AT, ["Const", AT, "a"], "encode", [], []]), "no method 'encode'"),
        (do(["CallValue", AT, ONE, [], []]), "a int cannot be called"),
        (
            do(["CallMethod", AT, ["Const", AT, "{0.__class__}"], "format", [ONE], []]),
            "reads a part of a value",
        ),
        (
            do(["Member", AT, ["Call", AT, "weft.zeros", [ONE], []], "grad_fn"]),
            "may not read 'grad_fn' of a Tensor",
        ),
    ]:
        file = io.BytesIO()
        weft.save(program_with(body), file)
        function = jit.load(io.BytesIO(file.getvalue()))
        with pytest.raises((AttributeError, TypeError, ValueError), match=said):
            function()


def test_odd_constants_run_without_warnings() -> None:
    """Python's compiler warns of items of numbers, and of ``is`` with them; a file must not make it."""
    pair, nothing = ["Items", AT, "tuple", [ONE, ONE]], ["Const", AT, None]
    for x in (ONE, nothing, pair, ["Const", AT, "ab"], ["Unary", AT, "-", ONE], ["Dots", AT]):
        for body in (
            do(["Index", AT, x, ["Const", AT, "x"]]),
            do(["Compare", AT, x, ["is"], [ONE]]),
            do(["Compare", AT, ONE, ["<", "is not"], [ONE, x]]),
            do(["CallValue", AT, x, [], []]),
            ["Assert", AT, pair, x],
        ):
            file = io.BytesIO()
            weft.save(program_with(body), file)
            function = jit.load(io.BytesIO(file.getvalue()))
            with contextlib.suppress(TypeError):  # but no SyntaxWarning, which is an error here
                function()


def test_deep_nesting_is_refused() -> None:
    """Ten thousand expressions or blocks within each other."""
    for depth in (300, 10_000):
        text = '["Unary", [1, 0, 0], "-", ' * depth + '["Const", [1, 0, 0], 1]' + "]" * depth
        head = function_with().replace('"", [], "f.py"', f'"", [["Do", [1, 0, 0], {text}]], "f.py"')
        changed = program_with()
        changed["programs"][0]["f"] = head
        assert "nested too deeply" in refused(changed)


def changed(*path: Any, value: Any) -> Any:
    """The content of a good file with one place changed; modules are counted from the last."""
    made = content()
    x = made
    for step in path[:-1]:
        x = x[step]
    x[path[-1]] = value
    return made


METHOD = function_with(["Return", AT, ["Var", AT, "self"]], method=True, name="forward")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("version",), 2, "version 2"),
        (("programs",), {}, "no programs"),
        (("programs",), [[]], "functions by name"),
        (("modules", -1), 3, "does not describe a module"),
        (("modules", -1, "kind"), "pickle", "is no kind of module"),
        (("modules", -1, "training"), 1, "does not describe a module"),
        (("modules", -1, "parameters"), {"_modules": weft.ones(1)}, "is no name of a member"),
        (("modules", -1, "parameters"), {"a": "x"}, "damaged|no tensor"),
        (("modules", -1, "buffers"), {"forward": weft.ones(1)}, "is no name of a member"),
        (("modules", -1, "attributes"), {"__class__": 1}, "is no name of a member"),
        (("modules", -1, "attributes"), {"_methods": {}}, "is no name of a member"),
        (("modules", -1, "attributes"), {"train": 1}, "is no name of a member"),
        (("modules", -1, "children"), {"a": 99}, "is none of"),
        (("modules", -1, "children"), {"a": -1}, "is none of"),
        (("modules", -1, "children"), {"__dict__": 0}, "is no name of a member"),
        (("modules", -1, "container"), "set", "is no container"),
        (("modules", -1, "methods"), {"forward": 3}, "expected the text of a function"),
        (("modules", -1, "methods"), {"forward": "["}, "not valid JSON"),
        (("modules", -1, "methods"), {"other": METHOD}, "has another name"),
        (("modules", -1, "program"), 7, "is none of"),
        (("modules", 0, "made"), None, "does not describe a layer"),
        (("modules", 0, "made", "class"), "os.system", "is no layer of weft's"),
        (("modules", 0, "made", "class"), "weft.nn.functional", "is no layer of weft's"),
        (
            ("modules", 0, "made", "class"),
            "weft.nn.Module",
            "cannot be made|other tensors|takes no",
        ),
        (("modules", 0, "made", "arguments"), {}, "needs"),
        (("modules", 0, "made", "arguments"), None, "arguments are not known"),
        (("modules", 0, "tensors"), {}, "other tensors than its class"),
        (("modules", 0, "tensors", "weight"), weft.ones(9), "expected"),
        (("module",), 99, "is none of"),
        (("module",), "x", "is none of"),
    ],
)
def test_changed_files_are_refused(path: Any, value: Any, said: str) -> None:
    """Every part of a module's file, changed; the checksums are right."""
    import re

    message = refused(changed(*path, value=value))
    assert re.search(said, message), message


def test_changed_graphs_are_refused() -> None:
    """Nodes of traces with unknown ops, values that are not there, wrong arguments."""
    file = stored(jit.trace(nn.Linear(2, 2), weft.ones(1, 2)))
    for path, value in [
        (("nodes", 0, 0), "os.system"),
        (("nodes", 0, 1), [{"value": 77}]),
        (("nodes", 0, 1), [{"code": 1}]),
        (("nodes", 0, 5), []),
        (("constants", 0, 4), "elsewhere"),
        (("constants", 0, 2), [9, 9]),
        (("inputs", 0, 2), [-1]),
        (("inputs", 0, 3), "float32"),
        (("outputs",), {"value": 99}),
        (("nodes",), None),
    ]:
        made = weft.load(file)
        x = made["modules"][-1]["graph"]
        for step in path[:-1]:
            x = x[step]
        x[path[-1]] = value
        file.seek(0)
        refused(made)


def test_no_file_of_programs_runs_anything(tmp_path: Path) -> None:
    """No event of Python while hostile files are loaded."""
    files = []
    for evil in EVIL:
        file = io.BytesIO()
        weft.save(program_with(evil), file)
        files.append(file.getvalue())
    code = (
        "import sys, io, weft\n"
        "files = eval(sys.stdin.read())\n"
        "def attempt(data):\n"
        "    try: weft.jit.load(io.BytesIO(data))\n"
        "    except weft.serialization.FileError: return\n"
        "    raise SystemExit('loaded')\n"
        "attempt(files[0]); attempt(files[1]); attempt(files[-1])\n"
        "seen = []\n"
        "harmless = ('object.__getattr__', 'sys._getframe', 'builtins.id')\n"
        "sys.addaudithook(lambda e, a: seen.append(e) if e not in harmless else None)\n"
        "for data in files: attempt(data)\n"
        "done = list(seen)\n"
        "print(done)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=repr(files), capture_output=True, text=True,
        cwd=Path(weft.__file__).parents[1], timeout=600,
    )  # fmt: skip
    assert done.stdout == "[]\n", done.stdout + done.stderr


def test_mutated_files_never_crash() -> None:
    """Files with one thing in the program changed: refused, or a program."""
    import random

    rng = random.Random(0)
    text = content()["modules"][-1]["methods"]["forward"]
    pieces = ["Call", "Var", "self", "x", "-", "1", "null", "[]", '"', "{", "true", "Return", "0"]
    for _ in range(500):
        at = rng.randrange(len(text))
        broken = text[:at] + rng.choice(pieces) + text[at + rng.randrange(4) :]
        try:
            from_json(broken, "a file")
        except FileError:
            pass


def test_calls_of_functions_come_along() -> None:
    """The functions that a function calls are in the file, once."""
    loaded = jit.load(stored(jit.script(calls)))
    assert sorted(loaded.program.functions) == ["calls", "helper"]
