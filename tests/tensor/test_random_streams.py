"""The two streams of random numbers: weft's own, and PyTorch's Mersenne Twister."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Iterator

import pytest

import weft


@pytest.fixture(autouse=True)
def _own_stream() -> Iterator[None]:
    yield
    weft.random.use("weft")


def test_the_twister_is_that_of_the_paper() -> None:
    """The 10,000th output from seed 5489, which the C++ standard states."""
    weft.random.use("torch")
    weft.manual_seed(5489)
    span = 2**28 - 1
    drawn = weft.empty(10_000, dtype=weft.int64).random_(0, span)
    assert drawn[0].item() == 3499211612 % span and drawn[-1].item() == 4123659995 % span


def test_a_choice_of_stream_starts_again_from_the_seed() -> None:
    weft.manual_seed(7)
    first = weft.rand(5)
    weft.random.use("torch")
    assert weft.random.stream() == "torch" and weft.initial_seed() == 7
    other = weft.rand(5)
    weft.random.use("weft")
    assert weft.equal(weft.rand(5), first) and not weft.equal(first, other)


def test_generators_keep_their_stream() -> None:
    own = weft.Generator().manual_seed(1)
    weft.random.use("torch")
    torch = weft.Generator().manual_seed(1)
    weft.random.use("weft")
    assert weft.equal(
        weft.rand(4, generator=own), weft.rand(4, generator=weft.Generator().manual_seed(1))
    )
    again = pickle.loads(pickle.dumps(torch))
    state = torch.get_state()
    x = weft.rand(4, generator=torch)
    assert state.numel() == 5056 and not weft.equal(x, weft.rand(4, generator=own))
    assert weft.equal(x, weft.rand(4, generator=again))
    own.set_state(state)  # a state says which stream it is of
    assert weft.equal(x, weft.rand(4, generator=own))


def test_compiled_functions_draw_the_same() -> None:
    weft.random.use("torch")
    drop = weft.nn.Dropout(0.4)

    def f(x: weft.Tensor) -> weft.Tensor:
        return drop(x) + weft.rand_like(x) * weft.randn(4)

    fast = weft.compile(f)
    x = weft.ones(3, 4)
    for seed in range(6):
        weft.manual_seed(seed)
        expected = f(x)
        weft.manual_seed(seed)
        assert weft.equal(fast(x), expected)


def test_threads_share_a_generator() -> None:
    """Each number is drawn once, whoever draws it, while others replace the state."""
    weft.random.use("torch")
    weft.manual_seed(0)
    whole = sorted(weft.rand(8000).tolist())
    weft.manual_seed(0)
    parts: list[float] = []

    def draw() -> None:
        for _ in range(20):
            parts.extend(weft.rand(50).tolist())

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(parts) == whole
    generator = weft.Generator()

    def reset() -> None:
        for k in range(100):
            generator.manual_seed(k)
            weft.randn(300, generator=generator)
            generator.set_state(generator.get_state())

    threads = [threading.Thread(target=reset) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def test_a_child_draws_on() -> None:
    """fork while another thread draws."""
    weft.random.use("torch")
    over = threading.Event()

    def draw() -> None:
        while not over.is_set():
            weft.randn(100_000)

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        for _ in range(20):
            if (pid := os.fork()) == 0:
                weft.rand(3)
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
    finally:
        over.set()
        thread.join()


def test_states_that_are_none() -> None:
    with pytest.raises(RuntimeError, match="no state of PyTorch's generator"):
        weft.set_rng_state(weft.full((5056,), 255, dtype=weft.uint8))
    with pytest.raises(RuntimeError, match="wrong size: got 7 bytes"):
        weft.set_rng_state(weft.zeros(7, dtype=weft.uint8))
    with pytest.raises(ValueError, match="must be 'weft' or 'torch', got 'numpy'"):
        weft.random.use("numpy")


@pytest.mark.parametrize("stream", ["Torch", "", None, 3])
def test_unknown_streams_are_refused(stream: object) -> None:
    with pytest.raises(ValueError, match="stream must be 'weft' or 'torch', got"):
        weft.random.use(stream)  # type: ignore[arg-type]
    assert weft.random.stream() == "weft"


def test_seeds_may_be_what_int_takes() -> None:
    """``manual_seed(time.time())`` is what programs write."""
    weft.manual_seed(3)
    drawn = weft.rand(4)
    for seed in (3.7, "3", weft.tensor(3)):
        weft.manual_seed(seed)  # type: ignore[arg-type]
        assert weft.initial_seed() == 3 and weft.equal(weft.rand(4), drawn)
