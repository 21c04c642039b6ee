"""``save_checkpoint`` and ``load_from_checkpoint``: a file from which a module can be rebuilt.

The work is done in ``weft/serialization/modules.py``, which is not loaded before it is needed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class CheckpointMethods:
    """The methods of ``Module`` for files from which it can be rebuilt."""

    def save_checkpoint(
        self,
        path: Any,
        *,
        optimizer: Any = None,
        scheduler: Any = None,
        epoch: int | None = None,
        step: int | None = None,
        **extra: Any,
    ) -> None:
        """Save the module so that ``load_from_checkpoint`` can make it again.

        The arguments that it was made with are saved along with its state. To resume a training
        bit for bit, save a ``weft.TrainingState`` instead.

        Args:
            path: the file, which is replaced in one go.
            optimizer: its state is saved too.
            scheduler: its state is saved too.
            epoch: the number of the epoch.
            step: the number of the step.
            extra: anything else: data, or objects with a ``state_dict``.

        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "layer.weft")
        >>> layer = weft.nn.Linear(2, 3, bias=False)
        >>> layer.save_checkpoint(path, epoch=5, losses=[0.5, 0.25])
        >>> weft.nn.Linear.load_from_checkpoint(path)
        Linear(in_features=2, out_features=3, bias=False)
        """
        from weft.serialization import save
        from weft.serialization.training import state_of

        given = {"optimizer": optimizer, "scheduler": scheduler, "epoch": epoch, "step": step}
        if "model" in extra:
            raise TypeError("save_checkpoint: 'model' is the module itself: choose another name")
        rest = {name: value for name, value in given.items() if value is not None} | extra
        save({"model": state_of(self), **state_of(rest)}, path)

    @classmethod
    def load_from_checkpoint(
        cls, path: Any, /, *, strict: bool = True, return_rest: bool = False, **arguments: Any
    ) -> Any:
        """Make a module from a file of ``save_checkpoint`` or of ``weft.TrainingState``.

        It is made with the arguments it had when it was saved, and gets its state. A file holds
        data and cannot run code; what it says is given to the constructor of this class.

        Args:
            path: the file.
            strict: raise if the state has names that the module does not have, or the other way round.
            return_rest: return the module and a dict of what else is in the file: ``epoch``,
                the state of ``optimizer`` and so on, under the names they were saved by.
            arguments: of the constructor, in place of those in the file.

        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "layer.weft")
        >>> layer = weft.nn.Linear(2, 1)
        >>> optimizer = weft.optim.SGD(layer.parameters(), lr=0.5)
        >>> layer.save_checkpoint(path, optimizer=optimizer, epoch=5)
        >>> layer, rest = weft.nn.Linear.load_from_checkpoint(path, return_rest=True)
        >>> optimizer = weft.optim.SGD(layer.parameters())
        >>> optimizer.load_state_dict(rest["optimizer"])
        >>> rest["epoch"], optimizer.param_groups[0]["lr"]
        (5, 0.5)
        """
        from weft.nn.module import Module
        from weft.serialization.modules import load_module

        if cls is Module:
            raise TypeError(
                "load_from_checkpoint: call it on the class of the saved module, as in "
                "Net.load_from_checkpoint(path), not on nn.Module"
            )
        module, rest = load_module(path, cls, strict, arguments)
        return (module, rest) if return_rest else module
