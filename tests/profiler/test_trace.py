"""Traces in Chrome's format, read as a viewer reads them; stacks; flame graphs."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
from typing import Any
from xml.etree import ElementTree

import pytest

import weft
from weft import nn
from weft.profiler import profile, record_function
from weft.profiler.flame import Frame, frames_of

# What the "Trace Event Format" asks of each kind of event.
REQUIRED = {
    "X": {"name", "cat", "ts", "dur", "pid", "tid"},
    "M": {"name", "pid", "args"},
    "s": {"name", "cat", "id", "ts", "pid", "tid"},
    "f": {"name", "cat", "id", "ts", "pid", "tid"},
    "i": {"name", "ts", "pid", "tid", "s"},
    "C": {"name", "ts", "pid", "args"},
}


def refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def read(path: pathlib.Path) -> dict[str, Any]:
    """Read a trace strictly, and check the rules of the format."""
    with open(path, encoding="utf-8") as f:
        trace = json.load(f, parse_constant=refuse)
    assert isinstance(trace["traceEvents"], list)
    assert trace["displayTimeUnit"] in ("ms", "ns")
    stacks: dict[tuple[int, int], list[dict[str, Any]]] = {}
    flows: dict[Any, list[dict[str, Any]]] = {}
    for e in trace["traceEvents"]:
        assert e["ph"] in REQUIRED, e
        assert REQUIRED[e["ph"]] <= set(e), e
        assert isinstance(e["pid"], int)
        if "tid" in e:
            assert isinstance(e["tid"], int)
        if "ts" in e:
            assert isinstance(e["ts"], (int, float))
            assert e["ts"] >= 0
        if "args" in e:
            assert isinstance(e["args"], dict)
        if e["ph"] == "C":
            assert all(isinstance(v, (int, float)) for v in e["args"].values())
        if e["ph"] == "i":
            assert e["s"] in ("g", "p", "t")
        if e["ph"] in "sf":
            flows.setdefault((e["cat"], e["id"]), []).append(e)
        if e["ph"] == "X":
            assert e["dur"] >= 0
            stacks.setdefault((e["pid"], e["tid"]), []).append(e)
    for events in stacks.values():  # complete events of a thread nest
        open_: list[dict[str, Any]] = []
        for e in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
            while open_ and open_[-1]["ts"] + open_[-1]["dur"] <= e["ts"] + 5e-4:
                open_.pop()
            if open_:
                assert e["ts"] + e["dur"] <= open_[-1]["ts"] + open_[-1]["dur"] + 2e-3
            open_.append(e)
    for arrows in flows.values():
        assert [a["ph"] for a in arrows[:1]] == ["s"]
        assert {a["ph"] for a in arrows} == {"s", "f"}
        assert arrows[0]["ts"] <= arrows[-1]["ts"]
    return trace


def recorded(**options: Any) -> profile:
    model, x = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)), weft.rand(4, 8)
    optimizer = weft.optim.Adam(model.parameters())
    with profile(**options) as prof:
        for _ in range(3):
            with record_function('a "step"', "näme\n"):
                optimizer.zero_grad()
                model(x).sum().backward()
                optimizer.step()
    return prof


def test_trace(tmp_path: pathlib.Path) -> None:
    prof = recorded(record_shapes=True, profile_memory=True, with_flops=True, with_stack=True)
    prof.add_metadata("who", "me")
    prof.add_metadata_json("settings", '{"lr": 0.1}')
    prof.preset_metadata_json("run", "7")
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(str(path))
    trace = read(path)
    assert trace["who"] == "me"
    assert trace["settings"] == {"lr": 0.1}
    assert trace["run"] == 7
    complete = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in complete] == [e.name for e in prof.events()]
    linear = next(e for e in complete if e["name"].startswith("linear"))
    assert linear["cat"] == "cpu_op"
    assert linear["args"]["Module"] == "Sequential.0"
    assert linear["args"]["Input Dims"][:2] == [[4, 8], [16, 8]]
    assert linear["args"]["FLOPs"] == 2 * 4 * 8 * 16
    assert linear["args"]["Line"].startswith(__file__)
    assert any(e["name"] == 'a "step"' and e["cat"] == "user_annotation" for e in complete)
    assert sum(e["ph"] == "s" for e in trace["traceEvents"]) >= 9
    memory = [e for e in trace["traceEvents"] if e["name"] == "[memory]"]
    counters = [e for e in trace["traceEvents"] if e["ph"] == "C"]
    assert len(memory) == len(counters) == len(prof.memory_events)


def test_trace_of_nothing(tmp_path: pathlib.Path) -> None:
    with profile() as prof:
        pass
    prof.export_chrome_trace(str(tmp_path / "empty.json"))
    assert [e for e in read(tmp_path / "empty.json")["traceEvents"] if e["ph"] != "M"] == []


def test_a_trace_says_that_events_are_missing(tmp_path: pathlib.Path) -> None:
    with pytest.warns(UserWarning, match="limit"):
        prof = recorded(limit=5)
    prof.export_chrome_trace(str(tmp_path / "cut.json"))
    assert read(tmp_path / "cut.json")["dropped_events"] > 0


def test_averages_have_no_trace_but_lists_of_events_do(tmp_path: pathlib.Path) -> None:
    prof = recorded()
    prof.events().export_chrome_trace(str(tmp_path / "events.json"))
    with pytest.raises(TypeError, match="averages have no times"):
        prof.key_averages().export_chrome_trace(str(tmp_path / "averages.json"))
    assert len(read(tmp_path / "events.json")["traceEvents"]) > len(prof.events())


def test_stacks(tmp_path: pathlib.Path) -> None:
    with profile(with_stack=True) as prof:
        for _ in range(20):
            weft.rand(200, 200) @ weft.rand(200, 200)
    path = tmp_path / "stacks.txt"
    prof.export_stacks(str(path), "self_cpu_time_total")
    lines = path.read_text().splitlines()
    assert lines
    for line in lines:
        stack, us = line.rsplit(" ", 1)
        assert int(us) > 0
        assert " " not in stack
        assert "test_stacks" in stack.split(";")[-1]
    total = sum(e.self_cpu_time_total for e in prof.events())
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) <= total
    with pytest.raises(ValueError, match="metric"):
        prof.export_stacks(str(path), "colour")


def check_sums(frame: Frame) -> None:
    """Boxes inside take no more time than the box."""
    inside = sum(f.ns for f in frame.children.values())
    assert inside <= frame.ns + 1e-6
    for f in frame.children.values():
        check_sums(f)


def test_flame_graph(tmp_path: pathlib.Path) -> None:
    prof = recorded(with_flops=True)
    root = frames_of(prof.events())
    assert root.ns == pytest.approx(sum(e.self_ns for e in prof.events()))
    check_sums(root)
    step = root.children['a "step"', ""]
    assert step.count == 3
    assert ("Sequential", "module") in step.children
    path = tmp_path / "flame.svg"
    text = prof.flame(str(path))
    assert path.read_text(encoding="utf-8") == text
    svg = ElementTree.fromstring(text)
    boxes = [g for g in svg.iter("{http://www.w3.org/2000/svg}g") if g.get("class") == "f"]
    assert boxes[0].get("data-n") == "all"
    assert float(boxes[0].get("data-w", 0)) == 1200
    assert 'a "step"' in {g.get("data-n") for g in boxes}
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text


def test_flame_graph_of_deep_ranges() -> None:
    """Without recursion, however deep."""

    def down(n: int) -> None:
        if n:
            with record_function("down"):
                down(n - 1)

    with profile() as prof:
        down(300)
    assert ElementTree.fromstring(prof.flame()) is not None


CLICK = """<script>
const box = [...document.querySelectorAll("g.f")].find(g => g.dataset.n === "outer");
const click = g => g.dispatchEvent(new MouseEvent("click", {bubbles: true}));
const width = () => Number(box.querySelector("rect").getAttribute("width"));
const before = width();
click(box);
const enlarged = width();
click(document.querySelector("g.f"));
document.title = [before < 1190, enlarged, Math.abs(width() - before) < 0.1].join(" ");
</script>"""


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium")
def test_a_click_enlarges_a_box(tmp_path: pathlib.Path) -> None:
    with profile() as prof:
        with record_function("outer"):
            weft.rand(300, 300) @ weft.rand(300, 300)
        weft.rand(300, 300) @ weft.rand(300, 300)
    picture = prof.flame().replace("<![CDATA[", "").replace("]]>", "")
    page = tmp_path / "flame.html"
    page.write_text(f"<html><body>{picture}{CLICK}</body></html>", encoding="utf-8")
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert "<title>true 1200 true</title>" in done.stdout
