"""``%load_ext weft``: cell magics that show in a notebook where the time of a cell goes."""

from __future__ import annotations

import html
import shlex

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["ProfileReport", "load_ipython_extension"]

_GROUPS = ("op", "module", "line")


class ProfileReport:
    """What ``%%profile`` shows: a verdict and a table; text in a terminal, HTML in a notebook.

    Attributes:
        profile: the ``weft.profiler.profile`` of the cell.
        group_by: what a row of the table is: "op", "module" or "line".
        row_limit: at most so many rows.

    >>> from weft.view.notebook import ProfileReport
    >>> with weft.profiler.profile() as prof:
    ...     y = weft.ones(2, 2) @ weft.ones(2, 2)
    >>> "matmul" in str(ProfileReport(prof, "op", 5))
    True
    """

    def __init__(self, profile: Any, group_by: Any, row_limit: int) -> None:
        self.profile, self.group_by, self.row_limit = profile, group_by, row_limit

    def parts(self) -> tuple[str, str]:
        """Return the verdict and the table.

        >>> from weft.view.notebook import ProfileReport
        >>> with weft.profiler.profile() as prof:
        ...     y = weft.ones(2, 2) @ weft.ones(2, 2)
        >>> len(ProfileReport(prof, "op", 5).parts())
        2
        """
        return self.profile.verdict(), self.profile.report(self.group_by, self.row_limit)

    def __repr__(self) -> str:
        """Return both as text."""
        return "\n\n".join(self.parts())

    def _repr_html_(self) -> str:
        verdict, table = map(html.escape, self.parts())
        return f"<p>{verdict}</p><pre>{table}</pre>"


def options(line: str) -> tuple[str, int, str]:
    """Read what stands behind ``%%profile``: grouping, number of rows, name.

    >>> from weft.view.notebook import options
    >>> options("--by line prof")
    ('line', 12, 'prof')
    """
    group_by, rows, name = "op", 12, ""
    words = iter(shlex.split(line))
    for word in words:
        if word == "--by":
            group_by = next(words, "")
            if group_by not in _GROUPS:
                raise ValueError(f"%%profile: --by takes {', '.join(_GROUPS)}, got {group_by!r}")
        elif word == "--rows":
            count = next(words, "")
            if not count.isdecimal() or int(count) == 0:
                raise ValueError(f"%%profile: --rows takes a number from 1 on, got {count!r}")
            rows = int(count)
        elif word.isidentifier() and not name:
            name = word
        else:
            raise ValueError(f"%%profile: takes --by, --rows and one name, got {word!r}")
    return group_by, rows, name


def _compiled(shell: Any, cell: str) -> tuple[Any, Any]:
    """Return the code of a cell, and that of the expression at its end or None.

    A cell may hold magics and shell commands of its own; errors in it show its lines.
    """
    import ast

    source = shell.transform_cell(cell)
    file = shell.compile.cache(source, raw_code=cell)
    tree = ast.parse(source, file)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = compile(ast.Expression(tree.body.pop().value), file, "eval")
    return compile(tree, file, "exec"), last


def load_ipython_extension(shell: Any) -> None:
    """Add weft's magics to a shell of IPython; ``%load_ext weft`` calls it.

    >>> class Shell:  # what it needs of IPython's
    ...     def register_magic_function(self, magic, magic_kind, magic_name):
    ...         print(f"{magic_kind}: {magic_name}")
    >>> weft.load_ipython_extension(Shell())
    cell: profile
    """

    def profile(line: str, cell: str) -> ProfileReport:
        """Run a cell under weft's profiler and show where its time went.

        %%profile [--by op|module|line] [--rows N] [NAME]

        With a NAME, that variable is the profile afterwards: ``NAME.flame("flame.svg")`` draws it.
        """
        from IPython.display import display  # type: ignore[import-not-found]

        group_by, rows, name = options(line)
        body, last = _compiled(shell, cell)
        with weft.profiler.profile(
            record_shapes=True, profile_memory=True, with_flops=True
        ) as prof:
            exec(body, shell.user_ns)
            value = eval(last, shell.user_ns) if last else None
        if name:
            shell.user_ns[name] = prof
        if value is not None:
            display(value)  # now: to show a tensor takes ops too
        return ProfileReport(prof, group_by, rows)

    shell.register_magic_function(profile, magic_kind="cell", magic_name="profile")
