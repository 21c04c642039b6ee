"""Writes the pages of the API reference, `docs/reference/`, from the registry of ops and from docstrings.

`docs/conf.py` calls :func:`write` before the site is built. The pages are not checked in.
"""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import generate

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs/reference"

# The modules that the reference has a page for, by chapter.
MODULES = {
    "Gradients and functions": "autograd autograd.functional func utils.checkpoint",
    "Networks": "nn nn.functional nn.init nn.utils nn.utils.rnn nn.utils.prune optim optim.lr_scheduler "
    "optim.swa_utils amp quantization quantization.nn.dynamic quantization.nn.static quantization.nn.qat",
    "Mathematics": "linalg fft special signal.windows sparse masked distributions",
    "Data and training": "utils.data train train.metrics vision.datasets vision.transforms "
    "vision.transforms.functional vision.models vision.ops vision.io vision.utils audio audio.functional "
    "audio.transforms text.data text.datasets text.vocab text.transforms text.functional distributed multiprocessing",
    "Compiler": "jit jit.script compiler",
    "Tools": "profiler debug.memory utils.benchmark utils.flop_counter utils.pytree utils.tensorboard view testing "
    "random compat.torch",
}
KINDS = {
    "Tensor|Scalar": "Tensor | Number",
    "Scalar": "Number",
    "str": "str",
    "object": "object",
}
SECTIONS = {"Args": "param", "Keyword Args": "param", "Attributes": "ivar", "Raises": "raises"}


# ---- docstrings as reStructuredText ------------------------------------------------------------


def prose(text: str) -> str:
    """Text with its code marked as code, and everything else taken literally."""
    parts = re.split(r"(``.+?``|:\w+:`[^`]+`|`[^`]+`_*)", text, flags=re.DOTALL)
    for i, part in enumerate(parts):
        if i % 2 == 0:
            parts[i] = re.sub(r"([*|\\]|(?<=\w)_(?!\w))", r"\\\1", part)
            continue
        code = part if part.startswith("``") else f"``{part.split('`')[1].lstrip('~!')}``"
        before = "\\ " if parts[i - 1][-1:].isalnum() else ""
        after = "\\ " if parts[i + 1][:1].isalnum() else ""
        parts[i] = before + code + after
    return "".join(parts)


def entries(lines: list[str], field: str) -> Iterator[str]:
    """The fields of a section such as Args: a name, a colon, and text that may go on."""
    for line in textwrap.dedent("\n".join(lines)).splitlines():
        name = re.match(r"(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*)(?: \([^)]*\))?:\s+(.*)", line)
        if name:
            for one in name.group(1).replace("*", r"\*").split(", "):
                yield f":{field} {one}: {prose(name.group(2))}"
        elif line.strip():
            yield "    " + prose(line.strip())


def blocks(doc: str) -> Iterator[list[str]]:
    """The paragraphs of a docstring."""
    block: list[str] = []
    for line in [*inspect.cleandoc(doc).splitlines(), ""]:
        if line.strip():
            block.append(line.rstrip())
        elif block:
            yield block
            block = []


def rst(doc: str) -> str:
    """A docstring as reStructuredText."""
    out: list[str] = []
    literal = False  # an indented block follows `::`
    for block in blocks(doc):
        title = block[0].rstrip(":")
        text = "\n".join(block)
        if block[0].startswith("===") or (literal and block[0].startswith(" ")):
            out.append(text)
            continue
        literal = False
        if block[0].lstrip().startswith(">>>"):
            out.append(".. code-block:: pycon\n\n" + textwrap.indent(textwrap.dedent(text), "    "))
        elif block[0].endswith(":") and title in SECTIONS and len(block) > 1:
            out.append("\n".join(entries(block[1:], SECTIONS[title])))
        elif block[0].endswith(":") and title in ("Returns", "Yields") and len(block) > 1:
            out.append(":returns: " + prose(" ".join(b.strip() for b in block[1:])))
        elif text.endswith("::"):
            literal = True
            out.append(prose(text[:-2]).strip() + "::")
        elif block[0].startswith(("- ", "* ")):
            out.append("\n".join(item(line) for line in block))
        else:
            examples = next((i for i, b in enumerate(block) if b.startswith(">>>")), len(block))
            out.append(prose(textwrap.dedent("\n".join(block[:examples]))))
            if examples < len(block):
                out.append(
                    ".. code-block:: pycon\n\n"
                    + textwrap.indent("\n".join(block[examples:]), "    ")
                )
    return "\n\n".join(out)


def item(line: str) -> str:
    """A line of a list, or its continuation."""
    return "- " + prose(line[2:]) if line[:2] in ("- ", "* ") else "  " + prose(line.strip())


# ---- signatures --------------------------------------------------------------------------------


def native_signature(text: str) -> str:
    """A signature of the registry as Python writes it."""
    _, _, rest = text.partition("(")
    given, _, result = rest.rpartition(" -> ")
    given = (given or rest).strip().removesuffix(")")
    out = []
    for part in re.split(r",\s*(?![^\[(]*[\])])", given):
        found = re.match(r"([\w|]+)(\?)?(\[\]|\.\.\.)?(\?)?\s+(\w+)(=.*)?$", part.strip())
        if not found:
            out.append(part.strip())
            continue
        kind, hole, many, optional, name, default = found.groups()
        kind = KINDS.get(kind, kind) + (" | None" if hole else "")
        if many == "[]":
            kind = f"Sequence[{kind}]"
        star = "*" if many == "..." else ""
        out.append(f"{star}{name}: {kind}{' | None' if optional else ''}{default or ''}")
    arrow = (
        f" -> {'tuple' if result.startswith('(') else result.replace('[]', 's')}" if result else ""
    )
    return f"({', '.join(out)}){arrow}"


class Annotation:
    """The text of an annotation, which prints without quotes."""

    def __init__(self, annotation: Any) -> None:
        self.text = (
            annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
        )

    def __repr__(self) -> str:
        return self.text.replace("weft._C.", "").replace("typing.", "")


def signature(x: Any) -> str:
    """The parameters of a Python object, without its `self`."""
    try:
        found = inspect.signature(x)
    except (TypeError, ValueError):
        return "(...)"
    names = list(found.parameters.values())
    if names and names[0].name in ("self", "cls"):
        names = names[1:]
    empty = inspect.Parameter.empty
    names = [
        p if p.annotation is empty else p.replace(annotation=Annotation(p.annotation))
        for p in names
    ]
    result = found.return_annotation
    result = empty if result is empty else Annotation(result)
    return re.sub(r"<[^<>]*>", "...", str(inspect.Signature(names, return_annotation=result)))


# ---- entries -----------------------------------------------------------------------------------


def entry(kind: str, name: str, parameters: str, doc: str, level: int = 0, *options: str) -> str:
    """One object of the reference."""
    head = "\n".join([f".. py:{kind}:: {name}{parameters}", *(f"   :{o}:" for o in options)])
    return textwrap.indent(head + "\n\n" + textwrap.indent(rst(doc), "   ") + "\n", "   " * level)


def methods(cls: type, prefix: str, level: int = 1) -> Iterator[str]:
    """The documented public methods and properties that a class defines itself."""
    for name, raw in sorted(vars(cls).items()):
        if name.startswith("_"):
            continue
        if isinstance(raw, property) and raw.__doc__:
            yield entry("property", f"{prefix}.{name}", "", raw.__doc__, level)
            continue
        x = getattr(cls, name, None)
        if callable(x) and not inspect.isclass(x) and getattr(x, "__doc__", None):
            static = [k for k in ("staticmethod", "classmethod") if type(raw).__name__ == k]
            yield entry("method", f"{prefix}.{name}", signature(x), x.__doc__, level, *static)


def public(module: Any) -> Iterator[tuple[str, Any]]:
    """The functions and classes that a module offers."""
    for name in sorted(getattr(module, "__all__", None) or dir(module), key=str.lower):
        x = getattr(module, name, None)
        if name.startswith("_") or inspect.ismodule(x) or not callable(x):
            continue
        home = getattr(x, "__module__", "") or ""
        listed = hasattr(module, "__all__") and not home.startswith("multiprocessing")  # Python's
        if listed or home.startswith("weft"):
            yield name, x


def members(module: Any, path: str) -> Iterator[str]:
    """The entries of a module's page."""
    registry = importlib.import_module("weft").ops.registry()
    for name, x in public(module):
        full = f"{path}.{name}"
        info = registry.get(full.removeprefix("weft.").replace(".", "_"))
        doc = (info.doc if info else None) or getattr(x, "__doc__", None) or ""
        if inspect.isclass(x):
            yield entry("class", name, signature(x).split(" -> ")[0], doc)
            yield from methods(x, name)
        else:
            parameters = signature(x)
            if parameters == "(...)" and info and "Tensor" in info.signatures[0]:
                parameters = native_signature(info.signatures[0])
            yield entry("function", name, parameters, doc)


def page(title: str, *parts: str) -> str:
    """A page."""
    return f"{title}\n{'=' * len(title)}\n\n" + "\n\n".join(p for p in parts if p) + "\n"


def module_page(path: str) -> str:
    """The page of a module."""
    parent, _, name = path.rpartition(".")
    both = name in dict(public(importlib.import_module(parent)))  # `jit.script` is a function too
    module = importlib.import_module(path)
    here = f".. py:{'currentmodule' if both else 'module'}:: {path}"
    return page(path, here, rst(module.__doc__ or ""), *members(module, path))


# ---- ops ---------------------------------------------------------------------------------------


def is_function(name: str) -> bool:
    """Whether an op is a function of weft, and not only a method (`weft.view` is a module)."""
    x = getattr(importlib.import_module("weft"), name, None)
    return x is not None and not inspect.ismodule(x)


def families() -> dict[str, list[str]]:
    """The public ops that are functions of weft or methods of Tensor, by the file that declares them."""
    weft = importlib.import_module("weft")
    where: dict[str, str] = {}
    for path in sorted((ROOT / "csrc/ops").glob("*.cpp")):
        for name in re.findall(r'"(\w+?)(?:\.\w+)?\([A-Z]', path.read_text("utf-8")):
            where.setdefault(name, f"csrc/ops/{path.name}")
    found: dict[str, list[str]] = {}
    spaces = ("linalg_", "fft_", "special_", "nn_functional_", "signal_", "sparse_", "masked_")
    for name in weft.ops.registry():
        x = getattr(weft if is_function(name) else weft.Tensor, name, None)
        if x is None or (name.startswith(("_", *spaces)) and not is_function(name)):
            continue
        home = getattr(x, "__module__", None) or ""
        python = home.replace(".", "/") + ".py"
        file = python if (ROOT / python).exists() and home.startswith("weft.") else where.get(name)
        found.setdefault(file or "csrc/ops/create.cpp", []).append(name)
    return found


def op_entry(name: str) -> str:
    """An op: its signatures, its doc, its other forms."""
    weft = importlib.import_module("weft")
    info = weft.ops.registry()[name]
    full = name if is_function(name) else f"Tensor.{name}"
    shown = [native_signature(s) for s in info.signatures] if "Tensor" in info.signatures[0] else []
    shown = shown or ["(" + info.signatures[0].partition("(")[2]]
    head = f".. py:function:: {full}{shown[0]}"
    head += "".join(f"\n                  {full}{s}" for s in shown[1:])
    forms = [f"``Tensor.{name}``"] if info.method and is_function(name) else []
    forms += [f"in place: ``{name}_``"] if info.inplace else []
    forms += ["takes ``out=``"] if info.out else []
    forms += (
        [f"no derivative: {prose(info.derivative)}"] if isinstance(info.derivative, str) else []
    )
    also = "Forms: " + "; ".join(forms) + "." if forms else ""
    return head + "\n\n" + textwrap.indent(rst(info.doc or "") + "\n\n" + also, "   ") + "\n"


def op_pages() -> dict[str, str]:
    """The pages of ops, by family."""
    made: dict[str, str] = {}
    for file, names in sorted(families().items()):
        stem = Path(file).name.split(".")[0]
        title = generate.sentence(generate.words(ROOT / file)).replace("`", "")
        key = f"ops_{stem}" + ("_python" if file.endswith(".py") else "")
        title = title.split(":")[0].split(" (")[0]
        body = [
            ".. py:currentmodule:: weft",
            f"Declared in ``{file}``.",
            *(op_entry(n) for n in sorted(names)),
        ]
        made[key] = made[key] + "\n\n" + "\n\n".join(body) if key in made else page(title, *body)
    return made


def tensor_page() -> str:
    """The class of tensors: what is no op, and where the ops are."""
    weft = importlib.import_module("weft")
    registry = weft.ops.registry()
    other = []
    for name in sorted(dir(weft.Tensor)):
        x = getattr(weft.Tensor, name)
        stands_for = (x.__doc__ or "").partition("(")[0].partition(".")[0]  # another name of an op
        names = {name, name.removesuffix("_"), stands_for}
        if not name.startswith("_") and not names & set(registry) and callable(x) and x.__doc__:
            other.append(entry("method", f"Tensor.{name}", signature(x), x.__doc__, 1))
    ops = ", ".join(
        f":py:func:`{n} <weft.{n}>`"
        for n, i in sorted(registry.items())
        if i.method and is_function(n)
    )
    return page(
        "weft.Tensor",
        ".. py:currentmodule:: weft",
        entry("class", "Tensor", "", weft.Tensor.__doc__ or "A tensor."),
        *other,
        "Ops that are methods too\n------------------------",
        ops,
    )


def toctree(title: str, names: list[str]) -> str:
    """A chapter of the index."""
    lines = "\n".join(f"   {n}" for n in names)
    return f".. toctree::\n   :caption: {title}\n   :maxdepth: 1\n\n{lines}"


def pages() -> dict[str, str]:
    """All pages, by name."""
    made = {"tensor": tensor_page(), **op_pages()}
    families = sorted((n for n in made if n != "tensor"), key=made.__getitem__)  # by title
    chapters = [toctree("Tensors", ["tensor", *families])]
    for chapter, names in MODULES.items():
        for name in names.split():
            made[name] = module_page(f"weft.{name}")
        chapters.append(toctree(chapter, names.split()))
    made["index"] = page(
        "API reference",
        "Made from the registry of ops and from docstrings, whose examples are tests.",
        *chapters,
    )
    return made


def included(name: str) -> str:
    """A page of the root as a page of the site."""
    return f"```{{include}} ../../{name}\n:relative-docs: docs/\n:relative-images:\n```\n"


def write() -> None:
    """Writes the pages that have changed, and removes those that are gone."""
    made = {f"{name}.rst": text for name, text in pages().items()}
    for name in ("README", "CHANGELOG", "CONTRIBUTING"):
        made[f"{name.lower()}.md"] = included(f"{name}.md")
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.iterdir():
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        path = FOLDER / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
