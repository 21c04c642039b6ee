"""Worker processes: the same batches as without, in shared memory, started in every way."""

from __future__ import annotations

import copy
import errno
import gc
import multiprocessing
import os
import pickle
import resource
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest
from data.loading import Count, Images, Kernels, Numbers, Who, fail_to_start, identity

import weft
from weft.utils.data import DataLoader, TensorDataset

TESTS = Path(__file__).resolve().parents[1]
STARTS = multiprocessing.get_all_start_methods()


def mappings() -> int:
    """How many batches of workers are mapped into this process."""
    return Path("/proc/self/maps").read_text().count("weft-batch")


def files() -> int:
    """How many files this process has open."""
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("start", STARTS)
def test_same_batches_as_without_workers(start: str) -> None:
    for dataset, arguments in (
        (Images(7), {"batch_size": 2}),
        (Numbers(7), {"batch_size": None}),
        (Numbers(9), {"batch_sampler": [[1, 2, 3], [8], [0, 4]]}),
        (TensorDataset(weft.randn(7, 3), weft.arange(7)), {"batch_size": 3}),
    )[: None if start == "fork" else 1]:
        expected = list(DataLoader(dataset, **arguments))  # type: ignore[arg-type]
        loader: Any = DataLoader(
            dataset,
            num_workers=2,
            multiprocessing_context=start,
            **arguments,  # type: ignore[arg-type]
        )
        found = list(loader)
        assert len(found) == len(expected) == len(loader)
        for a, b in zip(found, expected):
            assert type(a) is type(b)
            for x, y in zip(a if isinstance(a, list) else [a], b if isinstance(b, list) else [b]):
                assert bool((weft.as_tensor(x) == weft.as_tensor(y)).all())
    assert not [p for p in multiprocessing.active_children() if "weft-data" in p.name]


@pytest.mark.parametrize("count", [1, 3])
def test_streams_are_read_in_turns(count: int) -> None:
    loader = DataLoader(Count(10), batch_size=2, num_workers=count)
    batches = [b[:, 0].tolist() for b in loader]
    if count == 1:
        assert batches == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    else:
        assert batches == [[0, 3], [1, 4], [2, 5], [6, 9], [7], [8]]
    assert [int(x[0]) for x in DataLoader(Count(4), batch_size=None, num_workers=2)] == [0, 1, 2, 3]


def test_out_of_order_gives_all() -> None:
    loader = DataLoader(Numbers(20), 3, num_workers=3, in_order=False)
    assert sorted(weft.cat(list(loader)).tolist()) == list(range(20))
    stream = DataLoader(Count(10), 2, num_workers=3, in_order=False)
    assert sorted(weft.cat(list(stream))[:, 0].tolist()) == list(range(10))


def test_workers_know_themselves() -> None:
    loader = DataLoader(Who(6), batch_size=None, num_workers=2)
    who = list(loader)
    assert [w[0] for w in who] == [0, 1, 0, 1, 0, 1]
    assert {w[1] for w in who} == {2}
    assert who[1][2] == who[0][2] + 1  # the seed
    assert who[0][3] != os.getpid() and len({w[3] for w in who}) == 2
    assert {w[4] for w in who} == {1} and {w[5] for w in who} == {True}


@pytest.mark.parametrize("persistent", [False, True])
def test_persistent_workers(persistent: bool) -> None:
    loader = DataLoader(
        Who(4), batch_size=None, num_workers=2, persistent_workers=persistent, prefetch_factor=1
    )
    first, second = ({w[3] for w in loader} for _ in range(2))
    assert (first == second) is persistent
    iter(loader)  # and leave it
    assert len(list(loader)) == 4
    old, new = iter(loader), iter(loader)
    if persistent:
        with pytest.raises(RuntimeError, match="ends when the next one begins"):
            next(old)
    else:
        assert len(list(old)) == 4
    assert len(list(new)) == 4
    with pytest.raises(StopIteration):
        next(new)


def test_batches_lie_in_shared_memory_until_they_die(settled: None) -> None:
    before, open_before = mappings(), files()
    batches = list(DataLoader(Images(6), batch_size=2, num_workers=2))
    assert mappings() == before + 3
    kept = batches[1][0][0]  # a view of one tensor of one batch
    batches[0][0].add_(1)  # and it can be written to
    assert batches[0][0][1].mean().item() == 2
    del batches
    gc.collect()
    assert mappings() == before + 1
    assert kept.mean().item() == 2
    del kept
    gc.collect()
    assert (mappings(), files()) == (before, open_before)


def test_few_open_files_are_enough() -> None:
    """More batches are kept than files may be open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = files() + 40
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    try:
        batches = list(DataLoader(Images(100), batch_size=1, num_workers=2))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert [int(x.mean()) for x, _ in batches] == list(range(100))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE, errno.ENOMEM])
def test_without_room_for_files_batches_come_through_the_socket(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any) -> int:
        raise OSError(number, os.strerror(number))

    before = mappings()
    name = "pwrite" if number == errno.ENOSPC else "memfd_create"
    monkeypatch.setattr(os, name, refuse)  # which forks have, too
    batches = list(DataLoader(Images(6), 2, num_workers=2, multiprocessing_context="fork"))
    assert [x[1].mean().item() for x, _ in batches] == [1, 3, 5]
    assert mappings() == before


def test_layout_and_arrays_survive() -> None:
    import numpy as np

    x = weft.randn(8, 3, 16, 16).to(memory_format=weft.channels_last)
    samples: list[Any] = [
        (x, x[:, 1], np.asfortranarray(np.ones((90, 90))), weft.zeros(0, 3), weft.ones(()), "text"),
        (weft.zeros(70000, dtype=weft.bfloat16), None, {"a": np.arange(9)}, 1 + 2j),
    ]
    first, second = DataLoader(samples, batch_size=None, num_workers=1)
    assert first[0].stride() == x.stride() and bool((first[0] == x).all())
    assert bool((first[1] == x[:, 1]).all())
    assert first[2].sum().item() == 8100 and first[3].shape == (0, 3) and first[5] == "text"
    assert second[0].dtype is weft.bfloat16 and second[1] is None and second[3] == 1 + 2j


def test_long_tasks_and_answers_do_not_block() -> None:
    """More indices and more answers are on their way than a socket holds."""
    loader = DataLoader(
        Numbers(200_000), 20_000, num_workers=1, collate_fn=identity, prefetch_factor=10
    )
    assert sum(len(b) for b in loader) == 200_000


@pytest.mark.parametrize("start", STARTS)
def test_workers_after_parallel_kernels(start: str) -> None:
    """The parent has run threads, the workers run what would use them."""
    epochs = 2 if start == "fork" else 1
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-c",
            textwrap.dedent(f"""
            import sys
            sys.path.insert(0, {str(TESTS)!r})
            import weft
            from data.loading import Kernels
            from weft.utils.data import DataLoader
            if __name__ == "__main__":
                weft.set_num_threads(4)
                Kernels(1)[0]
                for _ in range({epochs}):
                    loader = DataLoader(
                        Kernels(4), 2, num_workers=2, multiprocessing_context={start!r}
                    )
                    for batch in loader:
                        Kernels(1)[0]
                        print(batch.tolist())
            """),
        ],
        capture_output=True,
        text=True,
        timeout=600,
    )
    n = float(1 << 20)
    assert done.stdout == f"[{n}, {2 * n}]\n[{3 * n}, {4 * n}]\n" * epochs, done.stderr
    assert done.stderr == ""


def test_kernels_here() -> None:
    assert Kernels(1)[2] == 3 * (1 << 20)


def test_init_runs_in_each_worker(tmp_path: Path) -> None:
    def init(number: int) -> None:
        (tmp_path / str(number)).touch()

    loader = DataLoader(
        Numbers(4), num_workers=3, worker_init_fn=init, multiprocessing_context="fork"
    )
    list(loader)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0", "1", "2"]
    failing = DataLoader(Numbers(4), num_workers=2, worker_init_fn=fail_to_start)
    batches = iter(failing)
    assert next(batches).item() == 0
    with pytest.raises(ValueError, match="worker 1 has no disk"):
        next(batches)


def test_loaders_in_threads() -> None:
    results: list[Any] = []

    def load() -> None:
        results.append(weft.cat(list(DataLoader(Numbers(30), 4, num_workers=2))).tolist())

    threads = [threading.Thread(target=load) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [list(range(30))] * 3


def test_a_loader_is_copied_without_its_workers() -> None:
    """A copy of a loader that is at work starts workers of its own; an iteration is not copied."""
    loader = DataLoader(range(6), batch_size=2, num_workers=1, persistent_workers=True)
    running = iter(loader)
    next(running)
    for same in (copy.deepcopy(loader), pickle.loads(pickle.dumps(loader))):
        assert [b.tolist() for b in same] == [[0, 1], [2, 3], [4, 5]]
    assert [b.tolist() for b in running] == [[2, 3], [4, 5]]
    for begun in (running, iter(DataLoader(range(6)))):
        with pytest.raises(TypeError, match="an iteration cannot be copied or pickled"):
            copy.deepcopy(begun)


def test_a_set_that_cannot_be_pickled_leaves_nothing() -> None:
    before = files()
    with pytest.raises((pickle.PicklingError, AttributeError)):
        iter(DataLoader([lambda: 1], num_workers=2, multiprocessing_context="spawn"))
    gc.collect()
    assert not [p for p in multiprocessing.active_children() if "weft-data" in p.name]
    assert files() <= before + 2  # multiprocessing's own resource tracker


def test_after_a_fork_the_iteration_is_not_the_childs() -> None:
    batches = iter(DataLoader(Numbers(4), num_workers=1))
    pid = os.fork()
    if pid == 0:
        try:
            next(batches)
        except RuntimeError as e:
            os._exit(7 if "after a fork" in str(e) else 1)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert [b.item() for b in batches] == [0, 1, 2, 3]


def test_pickling_takes_the_memory_as_it_is() -> None:
    x = weft.arange(1000.0)
    taken: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(x, 5, buffer_callback=taken.append)
    assert len(pickled) < 300
    same = pickle.loads(pickled, buffers=taken)
    same[0] = 7.0
    assert x[0].item() == 7.0  # the same memory
    for protocol in range(2, 6):
        copy = pickle.loads(pickle.dumps(x, protocol))
        copy[1] = 5.0
        assert bool((copy[2:] == x[2:]).all()) and x[1].item() == 1.0
