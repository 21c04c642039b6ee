"""``weft.hub``: weights from the network, kept in a folder of files.

>>> weft.hub.get_dir().endswith("hub")
True
"""

from __future__ import annotations

import os
import re

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["download_url_to_file", "get_dir", "load", "load_state_dict_from_url", "set_dir"]

_HASH = re.compile(r"-([a-f0-9]{6,})\.")
_folder: list[str] = []


def get_dir() -> str:
    """Return the folder that files are kept in: PyTorch's, so that they need not be fetched twice.

    >>> weft.hub.get_dir() == weft.hub.get_dir()
    True
    """
    if _folder:
        return _folder[-1]
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))
    return os.path.join(os.path.expanduser(home), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the folder that files are kept in.

    >>> weft.hub.set_dir(weft.hub.get_dir())
    """
    _folder[:] = [os.path.expanduser(os.fspath(d))]


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Fetch a file. It appears under its name once it is whole and has the right checksum.

    Args:
        url: where it is.
        dst: the path to put it at.
        hash_prefix: with what its SHA-256 must begin.
        progress: show a bar.

    >>> import pathlib, tempfile
    >>> there = pathlib.Path(tempfile.mkdtemp(), "a")
    >>> _ = there.write_text("hello")
    >>> here = str(there) + "-copy"
    >>> weft.hub.download_url_to_file(there.as_uri(), here, hash_prefix="2cf24d", progress=False)
    >>> pathlib.Path(here).read_text()
    'hello'
    """
    from weft.utils.download import fetch

    fetch(url, dst, sha256=hash_prefix, progress=progress)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> dict[str, Any]:
    """Load weights that lie on the network, or in the folder since an earlier call.

    Args:
        url: where the file is.
        model_dir: the folder to keep it in; by default ``checkpoints`` in ``get_dir()``.
        map_location, weights_only: as for ``weft.load``.
        progress: show a bar.
        check_hash: whether its SHA-256 must begin with what its name says, as in
            ``resnet18-f37072fd.pth``.
        file_name: the name in the folder; by default that in the URL.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> weft.save({"w": weft.ones(1)}, os.path.join(folder, "net.pth"))
    >>> weft.hub.load_state_dict_from_url("https://example.com/net.pth", model_dir=folder)
    {'w': tensor([1.])}
    """
    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    name = file_name or os.path.basename(url.split("?")[0].rstrip("/"))
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        found = _HASH.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress)
    return weft.load(path, map_location=map_location, weights_only=weights_only)


def load(repo_or_dir: str, model: str, *args: Any, **kwargs: Any) -> Any:
    """Raise: PyTorch fetches a repository here and runs its code; weft runs no code of others.

    Args:
        repo_or_dir: the repository.
        model: what to call in it.
        args, kwargs: what to call it with.
    """
    raise NotImplementedError(
        f"hub.load({repo_or_dir!r}, {model!r}): weft fetches weights, not programs: see "
        "torchvision.models, and hub.load_state_dict_from_url"
    )
