"""The memory of tensors as an object, files as tensors, and ``set_``."""

from __future__ import annotations

from pathlib import Path

import pytest

import weft


def test_views_share_a_storage() -> None:
    x = weft.arange(6, dtype=weft.float64).reshape(2, 3)
    s = x[1].untyped_storage()
    assert s == x.untyped_storage() and hash(s) == hash(x.t().untyped_storage())
    assert s != x.clone().untyped_storage() and s != 3
    assert s.nbytes() == len(s) == s.size() == 48 and s.data_ptr() == x.data_ptr()
    assert s.device == weft.device("cpu") and not s.is_cuda and not s.is_shared() and s.cpu() is s


def test_bytes_are_the_tensor() -> None:
    x = weft.tensor([1, 2, 3], dtype=weft.uint8)
    s = x.untyped_storage()
    s[0] = 9
    assert (
        x.tolist() == [9, 2, 3] and s[1] == 2 and list(s[1:]) == [2, 3] and s.tolist() == [9, 2, 3]
    )
    s.fill_(7)
    assert x.tolist() == [7, 7, 7]
    other = s.clone()
    other[0] = 0
    assert x[0] == 7 and s.copy_(other)[0] == 0 and x[0] == 0
    with pytest.raises(ValueError, match="step 1"):
        s[::2]
    with pytest.raises(NotImplementedError, match="sparse_coo has none"):
        weft.eye(2).to_sparse().untyped_storage()


def test_elements() -> None:
    x = weft.arange(4.0).reshape(2, 2)
    s = x[1].storage()
    assert s.size() == len(s) == 4 and s.nbytes() == 16 and s.element_size() == 4
    assert s[2] == 2.0 and list(s) == s.tolist() == [0, 1, 2, 3] and s.dtype == weft.float32
    s[3] = 8
    assert x[1, 1] == 8 and s.untyped() == x.untyped_storage() and s.data_ptr() == x.data_ptr()
    assert weft.is_storage(s) and weft.is_storage(s.untyped()) and not weft.is_storage(x)
    assert (
        weft.UntypedStorage(3).tolist() == [0, 0, 0] and weft.UntypedStorage(3).element_size() == 1
    )


def test_set() -> None:
    x, y = weft.zeros(2), weft.arange(6.0)
    x.set_(y)
    assert x.tolist() == y.tolist() and x.data_ptr() == y.data_ptr()
    x.set_(y, 1, (2, 2), (2, 1))
    assert x.tolist() == [[1, 2], [3, 4]]
    x.set_(y.storage())
    assert x.shape == (6,)
    x.set_(y.untyped_storage(), 2, (2,))
    assert x.tolist() == [2, 3]
    x.fill_(9)
    assert y.tolist() == [0, 1, 9, 9, 4, 5]
    assert x.set_().shape == (0,) and x.set_(y, 0, (0,)).shape == (0,)
    with pytest.raises(RuntimeError, match=r"source of torch.float32, got torch.int64"):
        x.set_(weft.arange(2))
    with pytest.raises(TypeError, match="a tensor or a storage, got int"):
        x.set_(3)
    with pytest.raises(RuntimeError):
        x.set_(y, 5, (9,))


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(weft.arange(4.0).numpy().tobytes())
    x = weft.from_file(str(path), size=4)
    assert x.tolist() == [0, 1, 2, 3]
    x.fill_(5)
    assert weft.from_file(str(path), size=4).tolist() == [0, 1, 2, 3], "a copy of its own"
    y = weft.from_file(str(path), shared=True, size=6)
    y.fill_(7)
    del y
    assert weft.from_file(str(path), size=6).tolist() == [7] * 6 and path.stat().st_size == 24
    with pytest.raises(RuntimeError, match="24 bytes, 28 are needed"):
        weft.from_file(str(path), size=7)
    with pytest.raises(FileNotFoundError):
        weft.from_file(str(tmp_path / "none"), size=1)
    assert weft.from_file(str(path)).shape == (0,)
