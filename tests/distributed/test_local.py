"""Several processes of one machine work together without MPI."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
from distributed.mpi import RANKS

import weft
import weft.distributed as dist
import weft.multiprocessing as mp
from weft import nn
from weft.distributed.mesh import connect
from weft.nn.parallel import DistributedDataParallel


def free_port() -> int:
    """A port that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def start_local(n: int, program: str, *args: str) -> list[subprocess.Popen[str]]:
    """Start a program of ``ranks/`` as torchrun would."""
    port, runs = free_port(), []
    for r in range(n):
        told = {"RANK": r, "WORLD_SIZE": n, "LOCAL_RANK": r, "LOCAL_WORLD_SIZE": n,
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": 1}  # fmt: skip
        environment = dict(os.environ, **{key: str(value) for key, value in told.items()})
        runs.append(subprocess.Popen(
            [sys.executable, "-u", str(RANKS / program), *args], env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ))  # fmt: skip
    return runs


def run_local(n: int, program: str, *args: str, seconds: float = 120) -> tuple[list[int], str]:
    """Run a program of ``ranks/``: exit codes, and all that it printed."""
    runs = start_local(n, program, *args)
    try:
        text = "".join(run.communicate(timeout=seconds)[0] for run in runs)
    finally:
        for run in runs:
            run.kill()
    return [run.returncode for run in runs], text


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("program", ["collectives.py", "training.py"])
def test_what_works_over_mpi(program: str, n: int) -> None:
    """The same programs, which check themselves, are done on every rank."""
    codes, text = run_local(n, program)
    assert codes == [0] * n, text
    assert [text.count(f"rank {r} is done") for r in range(n)] == [1] * n, text


@pytest.mark.parametrize(("n", "seed"), [(2, 0), (3, 1), (4, 2)])
def test_random_programs(n: int, seed: int) -> None:
    """Collectives on random shapes, dtypes and groups give what NumPy gives, to the bit."""
    codes, text = run_local(n, "random_program.py", str(seed), "100")
    assert codes == [0] * n, text


@pytest.mark.parametrize("what", ["large", "messages", "mismatched", "late", "apart"])
@pytest.mark.parametrize("n", [2, 3])
def test_local(what: str, n: int) -> None:
    """The program, which checks itself, is done on every rank."""
    codes, text = run_local(n, "local.py", what, "env://")
    assert codes == [0] * n, text


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_rank(victim: int) -> None:
    """All others raise an error that names it, and nobody waits."""
    codes, text = run_local(3, "local.py", "killed", "env://", str(victim))
    wanted = [0, 0, 0]
    wanted[victim] = -9
    assert codes == wanted, text


@pytest.mark.parametrize("seed", range(4))
def test_a_rank_killed_anywhere(seed: int) -> None:
    """In the midst of a random program, one rank is killed: the others end soon, by an error."""
    draw = random.Random(seed)
    runs = start_local(3, "random_program.py", str(seed), "1000000")
    try:
        for run in runs:
            assert run.stdout is not None and run.stdout.readline() == "begin\n"
        time.sleep(draw.random())
        victim = draw.randrange(3)
        runs[victim].kill()
        texts = [run.communicate(timeout=10)[0] for run in runs]
    finally:
        for run in runs:
            run.kill()
    assert [run.returncode for run in runs] == [-9 if r == victim else 1 for r in range(3)]
    others = [text for r, text in enumerate(texts) if r != victim]
    assert all("DistBackendError" in text and "whose program has ended" in text for text in others)
    assert any(f"waits for rank {victim}," in text for text in others), others


def test_meeting_by_address(tmp_path: Path) -> None:
    """``tcp://`` and ``file://`` do as well, and a file is not left behind."""
    file = tmp_path / "meeting place"
    for method in (f"tcp://localhost:{free_port()}", f"file://{file}"):
        codes, text = run_local(2, "local.py", "messages", method)
        assert codes == [0, 0], text
    assert not file.exists()


# ---- the tutorial -------------------------------------------------------------------------------


def net() -> nn.Module:
    """As in the tutorial, smaller."""
    weft.manual_seed(3)
    return nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 5))


def data(n: int) -> tuple[weft.Tensor, weft.Tensor]:
    """Two samples for each rank and step."""
    weft.manual_seed(4)
    return weft.randn(5, n * 2, 10), weft.randn(5, n * 2, 5)


def train(model: nn.Module, inputs: weft.Tensor, labels: weft.Tensor) -> None:
    """A few steps."""
    optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
    for x, y in zip(inputs, labels, strict=True):
        optimizer.zero_grad()
        nn.MSELoss()(model(x), y).backward()
        optimizer.step()


def demo_basic(rank: int, world_size: int, port: int, folder: str) -> None:
    """What each process of the tutorial does."""
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    assert dist.get_backend() == "gloo" and dist.is_gloo_available()
    model = net().to("cpu")
    inputs, labels = data(world_size)
    part = slice(rank * 2, rank * 2 + 2)
    train(DistributedDataParallel(model), inputs[:, part], labels[:, part])
    weft.save(model.state_dict(), f"{folder}/{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.parametrize("n", [2, 3])
def test_the_tutorial(n: int, tmp_path: Path) -> None:
    """All ranks have the same weights: those of one process that takes the whole batch."""
    mp.spawn(demo_basic, args=(n, free_port(), str(tmp_path)), nprocs=n, join=True)
    alone = net()
    train(alone, *data(n))
    states = [weft.load(tmp_path / f"{r}.pt") for r in range(n)]
    for name, wanted in alone.state_dict().items():
        assert all(state[name].equal(states[0][name]) for state in states)
        assert states[0][name].allclose(wanted, atol=1e-6), name


def test_the_guide(tmp_path: Path) -> None:
    """The program of the documentation prints what stands below it."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "distributed.md").read_text("utf-8")
    program = "# spawn.py" + page.partition("# spawn.py")[2].partition("```")[0]
    shown = page.partition("python spawn.py\n```\n```text\n")[2].partition("```")[0]
    (tmp_path / "spawn.py").write_text(program.replace("29500", str(free_port())), "utf-8")
    done = subprocess.run(
        [sys.executable, "spawn.py"], cwd=tmp_path, capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stdout) == (0, shown), done.stderr
    assert shown.startswith("gloo")


def failing(rank: int, port: int) -> None:
    """One rank raises, the others wait for it."""
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=3)
    if rank == 1:
        raise ArithmeticError("in the middle")
    dist.barrier()


def test_an_error_in_one_process() -> None:
    """The parent has an error of a rank, and no process is left."""
    with pytest.raises(mp.ProcessRaisedException, match=r"in the middle|waits for rank 1"):
        mp.spawn(failing, args=(free_port(),), nprocs=3)


# ---- stores -------------------------------------------------------------------------------------


def stores(tmp_path: Path) -> list[dist.Store]:
    """One of each."""
    served = dist.TCPStore("127.0.0.1", 0, is_master=True)
    return [dist.HashStore(), dist.FileStore(str(tmp_path / "store")), served,
            dist.TCPStore("localhost", served.port), dist.PrefixStore("a", dist.HashStore())]  # fmt: skip


def test_stores(tmp_path: Path) -> None:
    """Each does the same."""
    for store in stores(tmp_path):
        keys = store.num_keys()
        store.set("a", "1")
        store.set("a", b"\0\xff")
        assert store.get("a") == b"\0\xff" and store.check(["a"]) and not store.check(["a", "b"])
        assert store.add("n", 2) == 2 and store.add("n", -5) == -3 and store.get("n") == b"-3"
        assert store.compare_set("c", "", "x") == b"x" == store.compare_set("c", "y", "z")
        assert store.compare_set("c", "x", "z") == b"z" == store.get("c")
        assert store.num_keys() == keys + 3
        assert [store.delete_key(k) for k in ("a", "n", "c", "c")] == [True, True, True, False]
        with pytest.raises(dist.DistStoreError, match=r"b did not come within 0\.05 s"):
            store.wait(["b"], timedelta(seconds=0.05))
        setter = threading.Timer(0.05, store.set, ["b", "late"])
        setter.start()
        assert store.get("b") == b"late"
        setter.join()
        assert store.delete_key("b")
    assert (tmp_path / "store").stat().st_mode & 0o777 == 0o600


def test_strangers_are_refused() -> None:
    """A store survives a stranger, and a rank with another world size gets an error."""
    store = dist.TCPStore("127.0.0.1", 0, 3, is_master=True, wait_for_workers=False, guests=2)
    for text in (b"GET / HTTP/1.1\r\n\r\n", b"", b"weft store 1" + b"\3\0\0\0" + b"\xff" * 40):
        with socket.create_connection(("127.0.0.1", store.port)) as stranger:
            stranger.sendall(text)
    with pytest.raises(dist.DistStoreError, match="another world_size than 2"):
        dist.TCPStore("127.0.0.1", store.port, 2, wait_for_workers=False)
    guest = dist.TCPStore("127.0.0.1", store.port, 3, wait_for_workers=False)
    guest.set("a", "1")
    assert store.get("a") == b"1"
    store.close()


def test_nobody_there() -> None:
    """Errors say what is missing, in time."""
    port = free_port()
    with pytest.raises(dist.DistStoreError, match=f"nobody serves port {port}.*Does rank 0 run"):
        dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", timedelta(seconds=0.2), 2, 1)
    with pytest.raises(dist.DistStoreError, match=r"the ranks \[1\] did not come within 0\.2 s"):
        dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", timedelta(seconds=0.2), 2, 0)
    taken = socket.create_server(("127.0.0.1", port))
    with taken, pytest.raises(dist.DistStoreError, match=r"cannot listen.*choose another"):
        dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", timedelta(seconds=0.2), 2, 0)
    assert not dist.is_initialized()


def test_a_rank_that_ends_before_all_have_met() -> None:
    """Those who are there do not wait for the time limit."""
    store = dist.TCPStore("127.0.0.1", 0, 3, is_master=True, wait_for_workers=False, guests=2)

    def come_and_go() -> None:
        guest = dist.TCPStore("127.0.0.1", store.port, 3, wait_for_workers=False)
        guest.ask("join", b"ended", b"2")
        guest.wait(["address 0"])
        guest.close()

    other = threading.Thread(target=come_and_go)
    other.start()
    began = time.monotonic()
    with pytest.raises(dist.DistBackendError, match="rank 2 has ended before all ranks were there"):
        connect(store, 0, 3, "init_process_group")
    assert time.monotonic() - began < 10
    other.join()
    store.close()


def test_two_of_one_rank() -> None:
    """Ranks and sizes that contradict each other are errors, not mixtures."""
    store = dist.HashStore()
    store.set_timeout(timedelta(seconds=0.2))
    with pytest.raises(dist.DistStoreError, match=r"ranks \[1\] did not come"):
        connect(store, 0, 2, "here")
    with pytest.raises(dist.DistStoreError, match="two processes of rank 0"):
        connect(store, 0, 2, "here")
    with pytest.raises(ValueError, match="rank 1 says world_size 3, another rank 2"):
        connect(store, 1, 3, "here")
