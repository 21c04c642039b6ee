"""The page that ``jit.show`` writes: the graph before and after each pass, side by side."""

from __future__ import annotations

from html import escape

from .display import change, counts, facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .graph import Graph, Step

__all__ = ["page"]

LARGEST = 400  # nodes that are drawn; more are listed only

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1500px; color: #222; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.2rem; margin-top: 2.5rem }
h3 { font-size: 1rem; margin: 2rem 0 .4rem; border-top: 1px solid #ddd; padding-top: 1rem }
code, pre { font: 12px/1.5 ui-monospace, monospace }
table { border-collapse: collapse } td, th { padding: .15rem .8rem; text-align: right; border-bottom: 1px solid #eee }
td:first-child, th:first-child { text-align: left; padding-left: 0 }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem }
.side { border: 1px solid #ddd; border-radius: 6px; overflow: auto; max-height: 85vh; min-width: 0 }
.side p { position: sticky; left: 0; margin: 0; padding: .3rem .7rem; background: #f6f6f6; font-size: 13px }
.side svg { display: block; margin: 0 auto }
pre { margin: 0; padding: .7rem } .less { background: #fdd } .more { background: #dfd }
.none { color: #777 } a { color: #06c }
"""


def page(graphs: list[tuple[str, list[Step]]]) -> str:
    """Return the page of some graphs, each with its title and the passes it went through.

    >>> from weft.jit.html_page import page
    >>> f = weft.jit.optimize(lambda x: x.exp() + x.exp(), (weft.ones(2),))
    >>> "<svg" in page([("f", f.graph.history)])
    True
    """
    body = "".join(_graph(title, steps, i) for i, (title, steps) in enumerate(graphs))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>weft: passes</title><style>{_STYLE}</style></head><body><h1>What the passes did</h1>"
        f"{body or '<p>No graph yet: call it first.</p>'}</body></html>\n"
    )


def _graph(title: str, steps: list[Step], number: int) -> str:
    rows = [f"<tr><td>as it was taken</td>{_cells(steps[0].before)}</tr>"]
    parts = []
    for i, step in enumerate(steps):
        at, name = f"g{number}s{i}", escape(step.name)
        if _same(step):
            rows.append(f'<tr class="none"><td>{name}</td><td colspan="3">nothing to do</td></tr>')
            continue
        rows.append(f'<tr><td><a href="#{at}">{name}</a></td>{_cells(step.after)}</tr>')
        parts.append(f'<h3 id="{at}">{name}: {change(step)}</h3>{_step(step)}')
    if not parts:
        parts.append(f'<div class="side">{_picture(steps[0].before)}</div>')
    head = "<tr><th>pass</th><th>ops</th><th>bytes written</th><th>bytes of constants</th></tr>"
    return (
        f"<h2><code>{escape(title)}</code></h2><table>{head}{''.join(rows)}</table>{''.join(parts)}"
    )


def _same(step: Step) -> bool:
    return step.before is step.after or repr(step.before) == repr(step.after)


def _cells(graph: Graph) -> str:
    return "".join(f"<td>{n:,}</td>" for n in counts(graph))


def _step(step: Step) -> str:
    old, new = repr(step.before).splitlines(), repr(step.after).splitlines()
    return (
        '<div class="sides">'
        f'<div class="side"><p>before: {facts(step.before)}</p>{_picture(step.before)}</div>'
        f'<div class="side"><p>after: {facts(step.after)}</p>{_picture(step.after)}</div>'
        f'<div class="side"><pre>{_lines(old, set(new), "less")}</pre></div>'
        f'<div class="side"><pre>{_lines(new, set(old), "more")}</pre></div></div>'
    )


def _lines(lines: list[str], others: set[str], kind: str) -> str:
    return "\n".join(
        escape(s) if s in others else f'<span class="{kind}">{escape(s)}</span>' for s in lines
    )


def _picture(graph: Graph) -> str:
    if len(graph.nodes) > LARGEST:
        return f'<p class="none">{len(graph.nodes)} ops are too many to draw</p>'
    from weft.view.names import Names
    from weft.view.traced import from_static

    return from_static(graph, Names()).pipe("svg", "utf-8")
