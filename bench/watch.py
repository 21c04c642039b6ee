"""``python -m bench.watch``: what the live view adds to a training step of about 5 ms.

A training loop runs for a few seconds without the view, with one that no page looks at, and with one
that a page in another process looks at twice a second, in turns. The figures are the CPU time of the
whole process, with the threads that serve the page, and wall time, for each step.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import time
from typing import Any

import weft
from weft import nn


def network() -> tuple[nn.Module, Any]:
    """A network whose training step takes about 5 ms on one thread, and its optimiser."""
    weft.manual_seed(0)
    layers: list[nn.Module] = [nn.Linear(256, 512), nn.ReLU()]
    for _ in range(6):
        layers += [nn.Linear(512, 512), nn.LayerNorm(512), nn.GELU()]
    net = nn.Sequential(*layers, nn.Linear(512, 10))
    return net, weft.optim.Adam(net.parameters())


def look(url: str, stop: Any) -> None:
    """A page: asks for what is new, as the page's own code does."""
    import http.client
    import json
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=30)
    headers = {"Content-Type": "application/json", "Origin": f"http://127.0.0.1:{parts.port}"}
    known: dict[str, Any] = {"version": -1, "points": 0, "dropped": 0}
    while not stop.is_set():
        try:
            connection.request("POST", f"{parts.path}poll", json.dumps(known), headers)
            answer = json.loads(connection.getresponse().read())
        except (OSError, http.client.HTTPException):
            return
        known.update(version=answer["version"], points=answer["first"] + len(answer["points"]))
        if "values" in answer:
            known["shown"] = answer["shown"]
        if "graph" in answer:
            known["graph"] = answer["graph"]["signature"]
        time.sleep(0.06)


def steps(seconds: float, batch: int) -> tuple[float, float]:
    """Seconds of CPU (of all threads) and of wall time that a step takes."""
    weft.manual_seed(1)
    net, optimizer, x, y = *network(), weft.randn(batch, 256), weft.randint(0, 10, (batch,))
    count, wall, cpu = -20, 0.0, 0.0
    while count <= 0 or time.perf_counter() - wall < seconds:
        if count == 0:  # after some steps that only warm up
            wall, cpu = time.perf_counter(), time.process_time()
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
        count += 1
    return (time.process_time() - cpu) / count, (time.perf_counter() - wall) / count


def measure(way: str, seconds: float, batch: int) -> tuple[float, float]:
    """The same in one of the ways: without a view, with a closed or with an open page."""
    if way == "without":
        return steps(seconds, batch)
    with weft.view.watch(open_browser=False) as page:
        if way == "closed":
            return steps(seconds, batch)
        context = multiprocessing.get_context("spawn")
        stop = context.Event()
        looker = context.Process(target=look, args=(page.url, stop))
        looker.start()
        while not page.live.is_open:
            time.sleep(0.05)
        found = steps(seconds, batch)
        stop.set()
    looker.join()
    return found


def price(batch: int) -> tuple[float, float, float]:
    """Milliseconds of this thread's CPU: a step, what more a shown one takes, what the page is sent."""
    from weft.view.live import watching

    share, watching.SHARE = watching.SHARE, 1e9
    net, optimizer = network()
    x, y = weft.randn(batch, 256), weft.randint(0, 10, (batch,))
    took: dict[bool, list[float]] = {False: [], True: []}
    answers = []
    with weft.view.watch(net, open_browser=False) as page:
        for i in range(120):
            shown = i % 2 == 1  # whether the step that begins now is to be shown
            began = time.thread_time()
            page.live.asked = float("inf") if shown else float("-inf")
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            page.refreshes = 1e9
            optimizer.step()
            took[not shown].append(time.thread_time() - began)
            if not shown and page.live.shown is not None:
                began = time.thread_time()
                page.live.poll({"points": 10**9, "dropped": 0})
                answers.append(time.thread_time() - began)
    watching.SHARE = share
    plain, watched = sorted(1e3 * min(times[10:]) for times in took.values())
    return plain, watched - plain, 1e3 * min(answers)


def main() -> None:
    """Print the ratios, as medians over rounds in which the ways take turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--batch", type=int, default=80)
    args = parser.parse_args()
    weft.set_num_threads(1)
    plain, more, answer = price(args.batch)
    print(
        f"a step takes {plain:.2f} ms of CPU, a shown one {more:.2f} more, its way to the page {answer:.2f}"
    )
    print(f"  so two a second take {0.2 * (more + answer):.2f} % of the time")
    ways = ["without", "closed", "open"]
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for i in range(args.rounds):
        for way in ways[i % 3 :] + ways[: i % 3]:
            found[way].append(measure(way, args.seconds, args.batch))
    for i, what in enumerate(("CPU", "wall")):
        middle = {way: statistics.median(f[i] for f in found[way]) for way in ways}
        least = {way: min(f[i] for f in found[way]) for way in ways}
        print(f"{what}: {middle['without'] * 1e3:.2f} ms a step without the view", end="")
        print(f" (at least {least['without'] * 1e3:.2f})")
        for way in ways[1:]:
            m, s = (100 * (each[way] / each["without"] - 1) for each in (middle, least))
            print(f"  page {way}: median {m:+.1f} %, least {s:+.1f} %")


if __name__ == "__main__":
    main()
