"""Programs, modules and graphs as the data of a file, and back."""

from __future__ import annotations

import weft
from weft import nn
from weft.serialization.common import FileError
from weft.serialization.modules import class_name, describe, make_layer

from .graph import NODE_FIELDS, VALUE_FIELDS, Graph, Node, Value, one_by_one
from .script.allowed import is_member_name
from .script.data import check_calls, from_json, to_json
from .script.module import CONTAINERS, ScriptModule, as_script, empty
from .script.program import Program, Running, ScriptFunction
from .script.values import is_value
from .trace import TracedFunction
from .traced_module import TracedModule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

__all__ = ["Reader", "Writer"]

_CONTAINERS = {class_name(cls): cls for cls in CONTAINERS}


class Writer:
    """Collects the programs and modules of a file."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.programs: list[dict[str, str]] = []
        self.modules: list[dict[str, Any]] = []
        self._programs: dict[int, int] = {}
        self._modules: dict[int, int] = {}

    def program(self, program: Program) -> int:
        """Return the number of a program."""
        if id(program) not in self._programs:
            if program.in_python:
                names = ", ".join(program.in_python)
                raise ValueError(
                    f"save: the program calls Python's {names} (jit.ignore), which no file can hold: "
                    "mark it with jit.unused"
                )
            self._programs[id(program)] = len(self.programs)
            functions = {n: to_json(r.function) for n, r in program.functions.items()}
            self.programs.append(functions)
        return self._programs[id(program)]

    def module(self, module: Any) -> int:
        """Return the number of a module; its children have lower ones."""
        module = module.__dict__.get("_inner", module)  # of what was optimised: the program
        if id(module) not in self._modules:
            container = _CONTAINERS.get(_class_of(module))
            if isinstance(module, TracedModule):
                entry = {"kind": "traced", **self.tables(module)}
                entry["graph"] = None if module.graph is None else self.graph(module.graph)
            elif container is not None:
                entry = {"kind": "container", "class": _class_of(module)}
                entry["children"] = self.children(module)
            elif isinstance(module, ScriptModule) and not _is_layer(module):
                entry = {"kind": "script", **self.tables(module), **self.methods(module)}
            else:
                entry = self.layer(module)
            entry["training"] = module.training
            entry["script"] = isinstance(module, ScriptModule)
            self._modules[id(module)] = len(self.modules)
            self.modules.append(entry)
        return self._modules[id(module)]

    def children(self, module: Any) -> dict[str, Any]:
        """Return the numbers of the children by name."""
        return {n: None if c is None else self.module(c) for n, c in module._modules.items()}

    def tables(self, module: Any) -> dict[str, Any]:
        """Return the tensors, children and attributes of a module without a class."""
        frozen = module.__dict__.get("_frozen", {})
        tables: dict[str, Any] = {"parameters": {}, "buffers": {}}
        for kind in tables:
            tables[kind].update(getattr(module, f"_{kind}"))
            tables[kind].update({n: module.__dict__[n] for n, k in frozen.items() if k == kind})
        names = [
            n for n in module.__dict__
            if is_member_name(n) and n != "training" and n not in module._modules
            and not any(n in t for t in tables.values())
        ]  # fmt: skip
        return {
            "name": module.original_name,
            **tables,
            "passing": sorted(module._non_persistent_buffers_set),
            "children": self.children(module),
            "attributes": {n: module.__dict__[n] for n in names},
        }

    def methods(self, module: Any) -> dict[str, Any]:
        """Return the methods of a scripted module."""
        methods = module.__dict__["_methods"]
        programs = {id(r.program): r.program for r in methods.values()}
        if len(programs) > 1:
            raise ValueError(f"save: the methods of {module.original_name} are of several programs")
        number = self.program(next(iter(programs.values()))) if programs else None
        return {
            "program": number,
            "methods": {n: to_json(r.function) for n, r in methods.items()},
            "container": module.__dict__.get("_container", ""),
        }

    def layer(self, module: Any) -> dict[str, Any]:
        """Return one of weft's layers: how it was made, and its tensors."""
        name = _class_of(module)
        for part in module.modules():
            if part._hooked:
                raise ValueError(f"save: {name} has hooks, which no file can hold: remove them")
        described = describe(module)
        described["class"], described["state_dict"] = name, {}
        state = weft.get_rng_state()
        again = make_layer(described, f"save: {name}")
        weft.set_rng_state(state)
        _check_same(module, again, name)
        frozen = {
            f"{path}.{n}" if path else n: part.__dict__[n]
            for path, part in module.named_modules()
            for n in part.__dict__.get("_frozen", {})
        }
        tensors = dict(module.named_parameters(remove_duplicate=False))
        tensors.update(module.named_buffers(remove_duplicate=False))
        modes = [path for path, part in module.named_modules() if not part.training]
        return {
            "kind": "layer",
            "made": described,
            "tensors": tensors | frozen,
            "evaluating": modes,
        }

    def graph(self, graph: Graph) -> dict[str, Any]:
        """Return a graph: values by number, nodes in their order."""

        def encode(x: Any) -> Any:
            if isinstance(x, Value):
                return {"value": x.id}
            if isinstance(x, dict):
                return {"dict": [[k, encode(v)] for k, v in x.items()]}
            if isinstance(x, (list, tuple)):
                kind = "list" if isinstance(x, list) else "tuple"
                return {kind: [encode(v) for v in x]}
            return {"data": x}

        def described(v: Value) -> list[Any]:
            fields = (getattr(v, name) for name in VALUE_FIELDS)
            return [list(x) if isinstance(x, tuple) else x for x in fields]

        forms = {
            "args": lambda args: [encode(a) for a in args],
            "outputs": lambda outputs: [described(v) for v in outputs],
            "graphs": lambda graphs: [self.graph(g) for g in graphs],
        }

        def fields(n: Node) -> list[Any]:
            found = [forms.get(name, _same)(getattr(n, name)) for name in NODE_FIELDS]
            return found if n.graphs else found[:-1]

        inputs = [described(v) for v in graph.inputs]
        constants = [[*described(v), v.member or v.constant] for v in graph.constants]
        nodes = [fields(n) for n in one_by_one(graph.nodes)]
        return {
            "inputs": inputs, "constants": constants, "nodes": nodes,
            "outputs": encode(graph.returned),
            "joined": graph.frozen and any(n.parts for n in graph.nodes),
        }  # fmt: skip


def _class_of(module: Any) -> str:
    """The class of a layer in files; that of ``script(layer)`` is the layer's."""
    cls = type(module)
    if isinstance(module, ScriptModule) and cls.__mro__[1] is not nn.Module and _is_layer(module):
        cls = cls.__mro__[1]
    return class_name(cls)


def _is_layer(module: Any) -> bool:
    return class_name(type(module).__mro__[1]).startswith("weft.nn.") and (
        type(module).__mro__[1] is not nn.Module
    )


def _check_same(module: Any, again: Any, name: str) -> None:
    """Refuse a layer that was changed after it was made: a file knows only how it was made."""
    parts = dict(again.named_modules())
    for path, part in module.named_modules():
        other = parts.get(path)
        what = f"save: {name}{f' ({path})' if path else ''}"
        if other is None or _class_of(part) != _class_of(other):
            raise ValueError(
                f"{what} has other parts than when it was made: make it a module of yours"
            )
        for key, value in other.__dict__.items():
            plain = type(value) in (int, float, bool, str, type(None)) and key != "training"
            if plain and not key.startswith("_") and part.__dict__.get(key, value) != value:
                if key not in part._parameters and key not in part.__dict__.get("_frozen", ()):
                    raise ValueError(
                        f"{what}: {key} is {part.__dict__[key]!r}, but it was made with {value!r}"
                    )


# ---- back ---------------------------------------------------------------------------------------


class Reader:
    """Makes what a file describes, and trusts nothing in it."""

    def __init__(self, content: dict[str, Any], what: str) -> None:
        """Read the programs and modules of a file."""
        self.content, self.what = content, what
        self.made: list[Any] = []

    def fail(self, text: str) -> NoReturn:
        """Raise that the file is damaged."""
        raise FileError(f"{self.what}: {text}")

    def read(self) -> Any:
        """Return what the file holds."""
        programs, modules = self.content.get("programs"), self.content.get("modules")
        if not isinstance(programs, list) or not isinstance(modules, list):
            self.fail("no programs or no modules")
        self.programs = [self.program(p) for p in programs]
        for entry in modules:
            self.made.append(self.module(entry))
        if "function" in self.content:
            number, name = self.content["function"]
            program = self.programs[self.number(number, self.programs)]
            if name not in program.functions:
                self.fail(f"no function {name!r:.100}")
            return ScriptFunction(program, name)
        if "traced" in self.content:
            name, graph = self.content["traced"]
            return TracedFunction(self.graph(graph, None), str(name))
        module = self.made[self.number(self.content.get("module"), self.made)]
        if self.content.get("frozen") is True:
            from .freeze import freeze_in_place

            freeze_in_place(module)
        return module

    def number(self, x: Any, among: list[Any]) -> int:
        """Return a number that must be one of a list's."""
        if type(x) is not int or not 0 <= x < len(among):
            self.fail(f"{x!r:.100} is none of {len(among)}")
        return x

    def program(self, functions: Any) -> Program:
        """Return a program."""
        if not isinstance(functions, dict):
            self.fail("a program is functions by name")
        program = Program()
        for name, text in functions.items():
            function = from_json(text, f"{self.what}: {name!s:.100}")
            if function.name != name or function.method:
                self.fail(f"the function {name!r:.100} has another name, or is a method")
            program.add(function)
        for running in program.functions.values():
            check_calls(running.function, program, self.what)
        return program

    def module(self, entry: Any) -> Any:
        """Return a module; those it holds are made."""
        if not isinstance(entry, dict) or type(entry.get("training")) is not bool:
            self.fail(f"{entry!r:.100} does not describe a module")
        kind, made = entry.get("kind"), None
        if kind == "layer":
            made = self.layer(entry)
        elif kind == "container" and entry.get("class") in _CONTAINERS:
            made = _CONTAINERS[entry["class"]]()
            self.children(made, entry)
        elif kind in ("script", "traced"):
            if kind == "script" and entry["container"] not in ("", "list", "dict"):
                self.fail(f"{entry['container']!r:.100} is no container")
            made = empty(entry["container"]) if kind == "script" else TracedModule()
            self.tables(made, entry)
        if made is None:
            self.fail(f"{kind!r:.100} is no kind of module")
        made.__dict__["training"] = entry["training"]
        if entry.get("script") is True and not isinstance(made, ScriptModule):
            made = as_script(made)
        return made

    def names(self, table: Any) -> dict[str, Any]:
        """Return a table whose names members may have."""
        if not isinstance(table, dict):
            self.fail(f"{table!r:.100}: expected members by name")
        for name in table:
            if not is_member_name(name) or name == "training":
                self.fail(f"{name!r:.100} is no name of a member")
        return table

    def children(self, made: Any, entry: dict[str, Any]) -> None:
        """Give a module its children, which come before it in the file."""
        for name, number in self.names(entry["children"]).items():
            child = None if number is None else self.made[self.number(number, self.made)]
            made._modules[name] = child

    def tables(self, made: Any, entry: dict[str, Any]) -> None:
        """Give a module without a class its members and methods."""
        made.__dict__["_original"] = str(entry["name"])
        for name, p in self.names(entry["parameters"]).items():
            if p is not None and not isinstance(p, nn.Parameter):
                p = nn.Parameter(self.tensor(p), p.requires_grad)
            made._parameters[name] = p
        for name, b in self.names(entry["buffers"]).items():
            made._buffers[name] = None if b is None else self.tensor(b)
        made.__dict__["_non_persistent_buffers_set"] = {
            n for n in entry["passing"] if n in made._buffers
        }
        self.children(made, entry)
        for name, value in self.names(entry["attributes"]).items():
            if not is_value(value) or name in made.__dict__:
                self.fail(f"the attribute {name!r:.100} is not data, or is there twice")
            made.__dict__[name] = value
        if entry["kind"] == "traced":
            if entry["graph"] is not None:
                made.__dict__["_graph"] = self.graph(entry["graph"], made)
            return
        if entry["methods"]:
            program = self.programs[self.number(entry["program"], self.programs)]
        for name, text in entry["methods"].items():
            function = from_json(text, f"{self.what}: {name!s:.100}")
            if function.name != name or not function.method or name.startswith("__"):
                self.fail(f"the method {name!r:.100} has another name, or is none")
            check_calls(function, program, self.what)
            made.__dict__["_methods"][name] = Running(function, program)

    def tensor(self, x: Any) -> Any:
        """Return what must be a tensor."""
        return x if isinstance(x, weft.Tensor) else self.fail(f"{x!r:.100} is no tensor")

    def layer(self, entry: dict[str, Any]) -> Any:
        """Return one of weft's layers with its tensors in place."""
        made = make_layer(entry.get("made"), self.what)
        tensors, parts = entry["tensors"], dict(made.named_modules())
        wanted = {
            f"{path}.{name}" if path else name: (part, kind, name, old)
            for path, part in parts.items()
            for kind in ("_parameters", "_buffers")
            for name, old in getattr(part, kind).items()
            if old is not None
        }
        if set(tensors) != set(wanted):
            odd = sorted(map(str, set(tensors) ^ set(wanted)))
            self.fail(f"a layer has other tensors than its class: {', '.join(odd)[:200]}")
        for key, (part, kind, name, old) in wanted.items():
            new = self.tensor(tensors[key])
            if tuple(new.shape) != tuple(old.shape):
                self.fail(f"{key}: shape {list(new.shape)}, expected {list(old.shape)}")
            if kind == "_parameters" and not isinstance(new, nn.Parameter):
                new = nn.Parameter(new, new.requires_grad)
            getattr(part, kind)[name] = new
        evaluating = set(entry["evaluating"])
        for path, part in parts.items():
            part.training = path not in evaluating
        return made

    def graph(self, x: Any, module: Any) -> Graph:
        """Return a graph; its ops and values are checked."""
        graph, values = Graph(), {}
        members = {} if module is None else TracedModule.members(module)

        def value(described: Any) -> Value:
            id, name, shape, dtype = described
            sizes = [self.number(n, range(2**62)) for n in shape]  # type: ignore[arg-type]
            v = values[self.number(id, range(2**31))] = Value(id, name, tuple(sizes), dtype)  # type: ignore[arg-type]
            graph.count = max(graph.count, id + 1)
            return v

        def decode(e: Any) -> Any:
            ((kind, inside),) = e.items()
            if kind == "value":
                return values[inside]
            if kind in ("list", "tuple"):
                return (list if kind == "list" else tuple)([decode(i) for i in inside])
            if kind == "dict":
                return {k: decode(v) for k, v in inside}
            if kind != "data" or not is_value(inside):
                self.fail(f"{e!r:.100} is no argument")
            return inside

        graph.inputs = [value(v) for v in x["inputs"]]
        for *described, what in x["constants"]:
            v = value(described)
            if isinstance(what, str):
                if what not in members:
                    self.fail(f"no member {what!r:.100}")
                v.member, what = what, members[what]
            v.constant = self.tensor(what)
            if tuple(v.constant.shape) != v.shape or v.constant.dtype != v.dtype:
                self.fail(f"the constant {v.name!r:.50} is of another shape or dtype")
            graph.constants.append(v)
        for fields in x["nodes"]:
            described = dict(zip(NODE_FIELDS, fields))
            op, line = described["op"], str(described["line"])
            args = tuple(decode(a) for a in described["args"])
            node = Node(op, args, described["inplace"], line, described["grad"])
            if "graphs" in described:
                node.graphs = tuple(self.graph(g, None) for g in described["graphs"])
                if not node.graphs:
                    self.fail(f"{op!r:.100} has no graphs")
            graph.nodes.append(node.give([value(v) for v in described["outputs"]]))
        graph.returns(decode(x["outputs"]))
        graph.verify()
        if x.get("joined") is True:  # it was saved op by op
            from .passes import ENDINGS, run_passes

            graph.frozen = True
            graph = run_passes(graph, ENDINGS, remember=False)
        return graph


def _same(x: Any) -> Any:
    return x
