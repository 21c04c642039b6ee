"""The page in a real Chromium: click, zoom, search, pause, resume, breakpoints, saving, hostile names, many nodes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from view.chromium import Chromium, find_chromium

HERE = Path(__file__).parent
WHY = "Chromium is not installed (make browser installs it)"
pytestmark = pytest.mark.skipif(find_chromium() is None, reason=WHY)


class Program:
    """A program that trains in a process of its own, with its page."""

    def __init__(self, kind: str) -> None:
        self.child = subprocess.Popen(
            [sys.executable, str(HERE / "live_program.py"), kind],
            stderr=subprocess.PIPE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.child.stderr is not None
        line = self.child.stderr.readline()
        assert "http://127.0.0.1" in line, line + self.child.stderr.read()
        self.url = line.split()[-1]

    def close(self) -> None:
        self.child.kill()
        self.child.communicate()


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    made = Chromium()
    yield made
    made.close()


@pytest.fixture
def program(request: pytest.FixtureRequest) -> Iterator[Program]:
    made = Program(getattr(request, "param", "plain"))
    yield made
    made.close()


def opened(browser: Chromium, program: Program, shown: int = 2) -> Chromium:
    browser.open(program.url)
    browser.until(f"Number(document.documentElement.dataset.shown) >= {shown}")
    return browser


def state(b: Chromium) -> str:
    return str(b.js("document.querySelector('#state').textContent"))


def wait_for(b: Chromium, name: str) -> None:
    b.until(f"document.querySelector('#state').textContent === {json.dumps(name)}")


def op_named(b: Chromium, name: str, module: str = "") -> int:
    """The number of the first op of a name in a module, brought into sight."""
    right = f"o.name === {json.dumps(name)} && o.module.includes({json.dumps(module)})"
    code = f"weftLive.graph.ops.findIndex((o) => {right})"
    found = int(b.js(code))
    assert found >= 0, (name, module)
    return found


def place(b: Chromium, key: str) -> tuple[float, float]:
    found = b.until(f"weftLive.view.where({json.dumps(key)})")
    return found["x"], found["y"]


def text(b: Chromium, selector: str) -> str:
    return str(b.js(f"document.querySelector({json.dumps(selector)}).innerText"))


def test_a_node_is_clicked(browser: Chromium, program: Program) -> None:
    """Its shapes, its values, its line as code, what it reads and who reads it."""
    b = opened(browser, program)
    assert b.complaints() == []
    assert state(b) == "running"
    key = "op" + str(op_named(b, "linear", "stem"))
    b.mouse(*place(b, key))
    b.until("!!document.querySelector('#node h2')")
    panel = text(b, "#node")
    assert "linear" in panel and "Net.stem" in panel and "8×32 f32" in panel
    assert "Net.stem.weight" in panel and "mean" in panel and "not finite" in panel
    assert "x = self.layer2(self.layer1(self.stem(x)))" in text(b, ".code .here")
    assert b.js("document.querySelector('canvas.histogram').width") > 100
    b.click("#node ul.tensors button.link")  # to another op
    b.until("!!weftLive.selected && weftLive.selected.key !== " + json.dumps(key))


def test_modules_open_and_close_by_double_click(browser: Chromium, program: Program) -> None:
    b = opened(browser, program)
    b.click("#close-all")
    before = b.js("weftLive.view.drawing.placed.length")
    box = b.js("[...weftLive.graph.boxes.values()].find((x) => x.path === 'Net.layer1').key")
    x, y = place(b, box)
    time.sleep(0.2)
    b.mouse(x, y, clicks=2)
    b.until(f"weftLive.open.has({json.dumps(box)})")
    assert b.js("weftLive.view.drawing.placed.length") > before
    x, y = place(b, box)
    b.mouse(x, y, clicks=2)
    b.until(f"!weftLive.open.has({json.dumps(box)})")
    assert b.js("weftLive.view.drawing.placed.length") == before
    b.click("#open-all")
    assert b.js("weftLive.view.drawing.placed.length") > before


def test_wheel_zooms_at_the_mouse_and_dragging_moves(browser: Chromium, program: Program) -> None:
    b = opened(browser, program)
    key = "op" + str(op_named(b, "linear", "stem"))
    x, y = place(b, key)
    scale = b.js("weftLive.view.scale")
    b.wheel(x, y, -240)
    b.until(f"weftLive.view.scale > {scale} * 1.2")
    nx, ny = place(b, key)
    assert abs(nx - x) < 2 and abs(ny - y) < 2  # what is under the mouse stays there
    b.drag(x + 4, y + 120, 90, -40)
    b.until(f"Math.abs(weftLive.view.where('{key}').x - {x + 90}) < 2")
    assert abs(place(b, key)[1] - (y - 40)) < 2
    for button, larger in (("#zoom-in", True), ("#zoom-out", False)):
        scale = b.js("weftLive.view.scale")
        b.click(button)
        assert (b.js("weftLive.view.scale") > scale) is larger
    b.click("#fit")
    assert b.js("weftLive.view.scale") <= 1.15


def test_search_finds_and_goes_there(browser: Chromium, program: Program) -> None:
    b = opened(browser, program)
    b.click("#search")
    b.type("layer2.1 down")
    b.until("document.querySelector('#hits').textContent.includes('of')")
    expected = b.js("weftLive.graph.search('layer2.1 down').length")
    assert expected > 1
    b.key("Enter", 13)
    b.until("weftLive.selected && weftLive.selected.module === 'Net.layer2.1.down'")
    assert "linear" in text(b, "#node h2")
    assert f"1 of {expected}" in text(b, "#hits")
    first = b.js("weftLive.selected.id")
    b.key("Enter", 13)
    b.until(f"weftLive.selected.id !== {first}")
    b.js("weftLive.search('no such thing')")
    assert text(b, "#hits") == "no found" or "no" in text(b, "#hits")
    b.key("Escape", 27)
    assert b.js("document.querySelector('#search').value") == ""


def test_pause_step_and_resume(browser: Chromium, program: Program) -> None:
    b = opened(browser, program)
    b.click("#pause")
    wait_for(b, "paused")
    at = b.js("weftLive.answer.status.step")
    time.sleep(0.6)
    assert b.js("weftLive.answer.status.step") == at
    assert not b.js("document.querySelector('#resume').disabled")
    assert "loss" in text(b, "#stop") and "sample" in text(b, "#stop")  # variables of the program
    b.click("#step")
    b.until(
        f"weftLive.answer.status.step === {at + 1} && weftLive.answer.status.state === 'paused'"
    )
    b.until(f"weftLive.measures.values.step === {at + 1}")  # and that step is the one that is shown
    b.click("#resume")
    wait_for(b, "running")
    b.until(f"weftLive.answer.status.step > {at + 3}")


def test_stop_here_on_a_node(browser: Chromium, program: Program) -> None:
    """A breakpoint set from a node stops the program right there, with its tensors."""
    b = opened(browser, program)
    number = op_named(b, "linear", "head")
    b.js(f"weftLive.go(weftLive.graph.ops[{number}])")
    b.click("#node .stop-here")
    wait_for(b, "stopped")
    assert "breakpoint on linear of Net.head" in text(b, "#stop")
    assert (
        "output 0" in text(b, "#stop")
        and "8×4 f32" in text(b, "#stop")
        and "tensor(" in text(b, "#stop pre.values")
    )
    assert b.js("weftLive.view.marks.current.name") == "linear"
    b.click("[data-tab=points]")
    b.until("document.querySelector('.breakpoint .hits').textContent === '1×'")
    b.click(".breakpoint .remove")
    b.until("document.querySelectorAll('.breakpoint').length === 0")
    b.click("#resume")
    wait_for(b, "running")


@pytest.mark.parametrize("program", ["nan"], indirect=True)
def test_a_condition_stops_where_a_nan_comes_out(browser: Chromium, program: Program) -> None:
    b = opened(browser, program, shown=1)
    b.click("[data-tab=points]")
    b.click("#condition")
    b.type("any output of layer2 is strange")
    b.key("Enter", 13)
    b.until("document.querySelector('#condition-error').textContent.includes('expected finite')")
    b.js("document.querySelector('#condition').value = ''")
    b.click("#condition")
    b.type("any output of layer2 is not finite")
    b.key("Enter", 13)
    b.until("document.querySelectorAll('.breakpoint').length === 1")
    wait_for(b, "stopped")
    assert b.js("weftLive.answer.status.step") == 399  # in step 400
    assert "not finite" in text(b, "#stop") and "nan" in text(b, "#stop pre.values")
    assert b.js("weftLive.view.marks.current.module") == "Net.layer2.0.norm"
    b.js("weftLive.breakpoint({action: 'remove', number: 0})")
    b.click("#resume")
    b.until(
        "weftLive.measures.byPath.get('Net.layer2').bad > 0"
    )  # the values on the page are red now
    assert b.js("document.querySelectorAll('.bad-dot').length") > 0


def test_panels(browser: Chromium, program: Program) -> None:
    """Curves, layers, memory, compiled functions, the tree of modules, light and dark."""
    b = opened(browser, program, shown=3)
    assert b.js("document.querySelector('#loss-now').textContent.length") > 0
    b.click("[data-tab=layers]")
    assert "Net.layer1.0.up.weight" in text(b, "#layers") and "update / weight" in text(
        b, "#layers"
    )
    b.click("[data-tab=memory]")
    assert "at most" in text(b, "#memory-now")
    b.click("[data-tab=compiled]")
    b.until("document.querySelectorAll('#compiled .pass').length > 2")
    assert "softmax" in text(b, "#compiled") and "before" in text(b, "#compiled")
    b.click("#compiled .pass:nth-child(2)")
    b.click("[data-tab=curves]")
    b.click(".row[data-path='Net.layer1']")
    b.until("weftLive.selected && weftLive.selected.path === 'Net.layer1'")
    assert "forward · Net.layer1" in text(b, "#node")
    b.click("#tree-search")
    b.type("layer2.0.up")
    b.until("document.querySelectorAll('.row').length === 4")
    b.js("document.querySelector('#tree-search').value = ''")
    theme = b.js("document.documentElement.dataset.theme")
    colour = b.js("getComputedStyle(document.body).backgroundColor")
    b.click("#theme")
    assert b.js("document.documentElement.dataset.theme") != theme
    assert b.js("getComputedStyle(document.body).backgroundColor") != colour
    for phases in ("1", "0,1,2"):
        b.click(f"[data-phases='{phases}']")
        b.until(f"weftLive.phases.join() === '{phases}'")
    labels = b.js(
        "weftLive.view.drawing.placed.filter((p) => p.item.type === 'phase').map((p) => p.item.label)"
    )
    assert labels == ["forward", "backward", "update"]
    assert b.complaints() == []


def test_the_saved_page_needs_nothing(browser: Chromium, program: Program, tmp_path: Path) -> None:
    """The link downloads one file, which shows the same in a browser that has no program."""
    b = opened(browser, program)
    b.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    b.click("#save")
    end = time.monotonic() + 15
    file = tmp_path / "weft-live-view.html"
    while not file.exists() and time.monotonic() < end:
        time.sleep(0.1)
    time.sleep(0.3)
    ops = b.js("weftLive.graph.ops.length")
    program.close()
    b.open(file.as_uri())
    b.until("document.documentElement.dataset.shown === '1'")
    assert b.js("weftLive.graph.ops.length") == ops
    assert b.js("document.querySelector('#pause')") is None and state(b) == "saved"
    key = "op" + str(op_named(b, "linear", "stem"))
    b.mouse(*place(b, key))
    b.until("!!document.querySelector('#node h2')")
    assert "x = self.layer2" in text(b, ".code .here")
    b.click("[data-tab=compiled]")
    b.until("document.querySelectorAll('#compiled .pass').length > 2")
    asked = [
        e["params"]["request"]["url"]
        for e in b.events
        if e.get("method") == "Network.requestWillBeSent"
    ]
    assert all(url.startswith("file:") for url in asked), asked
    assert b.complaints() == []


@pytest.mark.parametrize("program", ["payloads"], indirect=True)
def test_hostile_names_are_text(browser: Chromium, program: Program, tmp_path: Path) -> None:
    """Layers, a file and values named as scripts are shown as they are written; nothing runs."""
    b = opened(browser, program)
    names = b.js("weftLive.answer.tree.map((row) => row[0])")
    hostile = [name for name in names if "<" in name]
    assert len(hostile) >= 7

    def unharmed() -> None:
        assert b.js("document.title").endswith("· weft"), b.js("document.title")
        assert b.js("document.querySelectorAll('script').length") <= 3
        assert b.js("document.querySelectorAll('img, iframe, svg[onload], b > b').length") == 0
        assert not [e for e in b.events if e.get("method") == "Page.javascriptDialogOpening"]
        assert [
            c for c in b.complaints() if "400" not in c
        ] == []  # what is refused is answered with 400

    unharmed()
    assert "<script>" in text(b, "#tree") and "<img" in text(b, "#program")
    for path in hostile:
        b.js(f"weftLive.choose({json.dumps(path)})")
    for number in range(0, b.js("weftLive.graph.ops.length"), 3):
        b.js(f"weftLive.go(weftLive.graph.ops[{number}])")
    b.js("weftLive.search('<script>')")
    for tab in ("layers", "memory", "compiled", "points"):
        b.click(f"[data-tab={tab}]")
    b.js(f"weftLive.breakpoint({{action: 'add', kind: 'module', text: {json.dumps(hostile[0])}}})")
    wait_for(b, "stopped")
    unharmed()
    assert "<" in text(b, "#stop")
    b.js(
        f"weftLive.breakpoint({{action: 'add', kind: 'condition', text: {json.dumps(hostile[0])}}})"
    )
    b.until("document.querySelector('#condition-error').textContent.length > 0")
    b.js("weftLive.command('resume')")
    unharmed()
    b.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    b.click("#save")
    end = time.monotonic() + 15
    while not (tmp_path / "weft-live-view.html").exists() and time.monotonic() < end:
        time.sleep(0.1)
    time.sleep(0.3)
    b.open((tmp_path / "weft-live-view.html").as_uri())
    b.until("document.documentElement.dataset.shown === '1'")
    unharmed()


def test_the_policy_stops_a_planted_script(browser: Chromium, program: Program) -> None:
    """The canary of the test above: what it looks for is seen where there is something to see."""
    b = opened(browser, program)
    b.js(
        "document.body.insertAdjacentHTML('beforeend', \"<img src=x onerror=document.title='owned'>\")"
    )
    b.until("document.querySelectorAll('img').length === 1")
    time.sleep(0.5)
    assert b.js("document.title") != "owned"  # the page's policy did not let it run
    assert any("Content Security Policy" in line for line in b.complaints())


@pytest.mark.parametrize("program", ["long"], indirect=True)
def test_ten_thousand_nodes_stay_fluid(browser: Chromium, program: Program) -> None:
    """Frames while everything is open and moved: by time of the page's own thread."""
    b = opened(browser, program, shown=1)
    assert b.js("weftLive.graph.ops.length") > 10_000
    b.click("#pause")
    wait_for(b, "paused")
    b.js("weftLive.setPhases([0, 1, 2])")
    b.js(
        "(() => { for (const key of weftLive.graph.boxes.keys()) weftLive.open.add(key); "
        "weftLive.relayout(); weftLive.view.fit(); })()"
    )
    assert b.js("weftLive.view.drawing.placed.length") > 10_000
    assert float(b.js("document.documentElement.dataset.layout")) < 5000
    took = b.js(
        "(async () => { const times = []; for (let i = 0; i < 30; i++) { const began = performance.now(); "
        "weftLive.view.x += 7; weftLive.view.scale *= 1.02; weftLive.view.paint(); "
        "times.push(performance.now() - began); "
        "await new Promise(requestAnimationFrame); } times.sort((a, b) => a - b); return times[15]; })()"
    )
    assert took < 120, took
    b.click("#close-all")
    took = b.js(
        "(() => { const began = performance.now(); weftLive.view.paint(); return performance.now() - began; })()"
    )
    assert took < 50, took


def test_a_program_that_ends_is_said_to_have_ended(browser: Chromium, program: Program) -> None:
    b = opened(browser, program)
    program.close()
    b.until("document.querySelector('#state').textContent === 'not answering'")
    assert b.js("weftLive.graph.ops.length") > 0  # what was shown stays


def test_keyboard(browser: Chromium, program: Program) -> None:
    """Arrows, plus and minus move the graph; the slash goes to the search."""
    b = opened(browser, program)
    b.js("document.querySelector('#graph').focus()")
    x, scale = b.js("weftLive.view.x"), b.js("weftLive.view.scale")
    b.key("ArrowRight", 39)
    assert b.js("weftLive.view.x") == x - 60
    b.call("Input.dispatchKeyEvent", type="keyDown", key="+", text="+")
    assert b.js("weftLive.view.scale") > scale
    b.call("Input.dispatchKeyEvent", type="keyDown", key="/", text="/")
    assert b.js("document.activeElement.id") == "search"


if picture := os.environ.get("WEFT_PICTURES"):  # to look at: WEFT_PICTURES=folder pytest ...

    @pytest.fixture(autouse=True)
    def _pictures(request: pytest.FixtureRequest, browser: Any) -> Iterator[None]:
        yield
        browser.picture(os.path.join(str(picture), f"{request.node.name}.png"))
