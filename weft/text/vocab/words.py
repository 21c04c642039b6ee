"""``Vocab``: one class with the methods of torchtext's newer vocabulary and the older attributes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import weft
from weft import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .vectors import Vectors

__all__ = ["Vocab"]


class _Indices(dict[str, int]):
    """Numbers of tokens; the default one for a token that is not there."""

    default: int | None = None

    def __missing__(self, token: str) -> int:
        if self.default is None:
            raise KeyError(token)
        return self.default


class Vocab(nn.Module):
    """Tokens and their numbers.

    The arguments are those of the older class, which numbers the tokens of a counter by frequency,
    the most frequent first, and equally frequent ones by the alphabet. Unknown tokens have the
    number of ``"<unk>"`` if that is one of the special ones. :func:`vocab` and
    :func:`build_vocab_from_iterator` make the vocabularies of newer programs.

    Args:
        counter: how often each token occurs.
        max_size: the largest number of tokens, special ones not counted.
        min_freq: how often a token must occur.
        specials: tokens that are there in any case.
        vectors: vectors of words to load: see :meth:`load_vectors`.
        unk_init: fills the vector of a token that the loaded ones lack; by default with zeros.
        vectors_cache: the folder of these vectors.
        specials_first: whether the special tokens have the first numbers, or the last.

    Attributes:
        itos: the tokens, by number.
        stoi: the numbers, by token.
        freqs: the counter.
        vectors: a row for each token, or None.

    >>> from collections import Counter
    >>> vocab = weft.text.vocab.Vocab(Counter("abracadabra"), specials=("<unk>",))
    >>> vocab.itos
    ['<unk>', 'a', 'b', 'r', 'c', 'd']
    >>> vocab.stoi["a"], vocab["x"], vocab(["b", "r"])
    (1, 0, [2, 3])
    """

    UNK = "<unk>"

    def __init__(
        self,
        counter: Counter[str],
        max_size: int | None = None,
        min_freq: int = 1,
        specials: Sequence[str] = ("<unk>", "<pad>"),
        vectors: Any = None,
        unk_init: Callable[[Tensor], Tensor] | None = None,
        vectors_cache: str | None = None,
        specials_first: bool = True,
    ) -> None:
        super().__init__()
        special = list(dict.fromkeys(specials))
        words = [
            word
            for word, count in sorted(counter.items(), key=lambda item: (-item[1], item[0]))
            if count >= max(min_freq, 1) and word not in special
        ][:max_size]
        self._fill(special + words if specials_first else words + special, counter)
        self.stoi.default = self.stoi.get(self.UNK) if self.UNK in special else None
        if vectors is not None:
            self.load_vectors(vectors, unk_init=unk_init, cache=vectors_cache)
        elif unk_init is not None or vectors_cache is not None:
            raise ValueError(
                "Vocab: unk_init and vectors_cache say how vectors are loaded; none are"
            )

    def _fill(self, tokens: list[str], counter: Counter[str]) -> None:
        self.freqs = Counter(counter)
        self.itos = tokens
        self.stoi = _Indices((token, i) for i, token in enumerate(tokens))
        self.vectors: Tensor | None = None
        if len(self.stoi) != len(tokens):
            twice = [t for t, n in Counter(tokens).items() if n > 1]
            raise RuntimeError(f"Vocab: every token may be there once, but {twice} are there twice")

    # ---- reading ----

    def __len__(self) -> int:
        """Return how many tokens there are."""
        return len(self.itos)

    def __contains__(self, token: object) -> bool:
        """Return whether a token is there."""
        return token in self.stoi.keys()

    def __eq__(self, other: object) -> bool:
        """Return whether the other has the same tokens, numbers, counts and vectors."""
        if not isinstance(other, Vocab):
            return NotImplemented
        a, b = self.vectors, other.vectors
        same = (self.itos, self.freqs, self.stoi.default) == (
            other.itos,
            other.freqs,
            other.stoi.default,
        )
        if a is None or b is None:
            return same and a is b
        return same and weft.equal(a, b)

    __hash__ = nn.Module.__hash__

    def __getitem__(self, token: str) -> int:
        """Return the number of a token, or the default one."""
        return self.forward((token,))[0]

    def forward(self, tokens: Sequence[str]) -> list[int]:
        stoi = self.stoi
        try:
            return [stoi[token] for token in tokens]
        except KeyError as e:
            raise RuntimeError(
                f"Vocab: the token {e.args[0]!r} is not there, and no default index is set "
                "(set_default_index)"
            ) from None

    def lookup_indices(self, tokens: Sequence[str]) -> list[int]:
        """Return the numbers of tokens.

        >>> weft.text.vocab.vocab({"a": 1, "b": 1}).lookup_indices(["b", "a"])
        [1, 0]
        """
        return self.forward(tokens)

    def lookup_token(self, index: int) -> str:
        """Return the token with a number.

        >>> weft.text.vocab.vocab({"a": 1, "b": 1}).lookup_token(1)
        'b'
        """
        if not 0 <= index < len(self.itos):
            raise RuntimeError(f"Vocab: index must be from 0 to {len(self.itos) - 1}, got {index}")
        return self.itos[index]

    def lookup_tokens(self, indices: Iterable[int]) -> list[str]:
        """Return the tokens with these numbers.

        >>> weft.text.vocab.vocab({"a": 1, "b": 1}).lookup_tokens([1, 0])
        ['b', 'a']
        """
        return [self.lookup_token(int(i)) for i in indices]

    def get_stoi(self) -> dict[str, int]:
        """Return the numbers by token.

        >>> weft.text.vocab.vocab({"a": 1, "b": 1}).get_stoi()
        {'a': 0, 'b': 1}
        """
        return dict(self.stoi)

    def get_itos(self) -> list[str]:
        """Return the tokens by number.

        >>> weft.text.vocab.vocab({"a": 1, "b": 1}).get_itos()
        ['a', 'b']
        """
        return list(self.itos)

    def get_default_index(self) -> int | None:
        """Return the number of tokens that are not there; None if these are an error.

        >>> weft.text.vocab.vocab({"a": 1}).get_default_index() is None
        True
        """
        return self.stoi.default

    # ---- changing ----

    def set_default_index(self, index: int | None) -> None:
        """Set the number that tokens have which are not there; None makes them an error.

        >>> vocab = weft.text.vocab.vocab({"a": 1}, specials=["<unk>"])
        >>> vocab.set_default_index(vocab["<unk>"])
        >>> vocab["zebra"]
        0
        """
        self.stoi.default = index

    def append_token(self, token: str) -> None:
        """Add a token behind the others.

        >>> vocab = weft.text.vocab.vocab({"a": 1})
        >>> vocab.append_token("b")
        >>> vocab["b"]
        1
        """
        self.insert_token(token, len(self.itos))

    def insert_token(self, token: str, index: int) -> None:
        """Add a token at a place; those behind it move on by one.

        >>> vocab = weft.text.vocab.vocab({"a": 1, "b": 1})
        >>> vocab.insert_token("c", 1)
        >>> vocab.get_itos()
        ['a', 'c', 'b']
        """
        if token in self:
            raise RuntimeError(f"Vocab: the token {token!r} is there already, at {self[token]}")
        if not 0 <= index <= len(self.itos):
            raise RuntimeError(f"Vocab: index must be from 0 to {len(self.itos)}, got {index}")
        if self.vectors is not None:
            raise RuntimeError("Vocab: tokens are added before vectors are loaded")
        self.itos.insert(index, token)
        for i in range(index, len(self.itos)):
            self.stoi[self.itos[i]] = i

    def extend(self, v: Vocab, sort: bool = False) -> None:
        """Add the tokens of another vocabulary that this one lacks.

        >>> a, b = weft.text.vocab.vocab({"x": 1}), weft.text.vocab.vocab({"z": 1, "y": 1})
        >>> a.extend(b, sort=True)
        >>> a.itos
        ['x', 'y', 'z']
        """
        for token in sorted(v.itos) if sort else v.itos:
            if token not in self:
                self.append_token(token)

    # ---- vectors ----

    def load_vectors(
        self,
        vectors: Any,
        unk_init: Callable[[Tensor], Tensor] | None = None,
        cache: str | None = None,
    ) -> None:
        """Give every token a row of ``vectors``.

        Args:
            vectors: :class:`Vectors`, a name such as ``"glove.6B.100d"``, or a list of these,
                whose rows are joined.
            unk_init: fills the vector of a token that is not there; used with names.
            cache: the folder of the files; used with names.

        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "v.txt")
        >>> with open(path, "w") as file:
        ...     _ = file.write("a 1 2\\n")
        >>> vocab = weft.text.vocab.vocab({"b": 1, "a": 1})
        >>> vocab.load_vectors(weft.text.vocab.Vectors(path))
        >>> vocab.vectors
        tensor([[0., 0.],
                [1., 2.]])
        """
        from .vectors import Vectors, pretrained

        given = vectors if isinstance(vectors, (list, tuple)) else [vectors]
        loaded: list[Vectors] = []
        for v in given:
            if isinstance(v, str):
                v = pretrained(v, unk_init=unk_init, cache=cache)
            elif not isinstance(v, Vectors):
                raise ValueError(
                    f"load_vectors: expected Vectors or the name of some, got {type(v).__name__}"
                )
            loaded.append(v)
        rows = [v.get_vecs_by_tokens(self.itos) for v in loaded]
        self.vectors = weft.cat(rows, 1)

    def set_vectors(
        self,
        stoi: dict[str, int],
        vectors: Tensor,
        dim: int,
        unk_init: Callable[[Tensor], Tensor] = Tensor.zero_,
    ) -> None:
        """Give every token a row of a tensor, found by a dictionary.

        >>> vocab = weft.text.vocab.vocab({"b": 1, "a": 1})
        >>> vocab.set_vectors({"a": 0}, weft.tensor([[1.0, 2.0]]), 2)
        >>> vocab.vectors[1]
        tensor([1., 2.])
        """
        rows = weft.zeros(len(self), dim)
        for i, token in enumerate(self.itos):
            row = stoi.get(token)
            rows[i] = unk_init(weft.empty(dim)) if row is None else vectors[row]
        self.vectors = rows

    def extra_repr(self) -> str:
        return f"{len(self)} tokens"
