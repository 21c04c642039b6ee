"""Finds people, places and firms in sentences with an LSTM that reads in both directions.

Sentences are built from templates with names of people, cities of the time-zone database, and firms.
Half of the names in the test are new: the network must go by context and by how words are written. Their
letters are read by a convolution.

Goal: an F1 score of at least 0.95 over whole names in new sentences.

    python -m weft examples ner
"""

import random
import zoneinfo

from common import arguments, conclude, figure, rounds, say

import weft
from weft import nn
from weft.nn import functional as F

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"]
FIRST = (
    "Anna Bruno Clara David Elena Felix Greta Hugo Ines Jonas Karla Lukas Maria Nils Olga Paul Rosa Simon Tara Viktor "
    "Wanda Yusuf Zoe Amir Bianca Chen Dilara Emeka Fatima Goran Hana Igor Jin Kofi Leila Marco Nadia Omar Petra Rafael"
).split()
LAST = (
    "Adler Berger Costa Dubois Eriksen Fischer Garcia Haddad Ito Jensen Kowalski Larsen Moretti Novak Okafor Petrov "
    "Quinn Rossi Silva Tanaka Ueda Vogel Weber Xu Yilmaz Zhang Abbas Bauer Cruz Diaz Endo Ferrari Gruber Hoang"
).split()
FIRMS = [
    "Steel",
    "Motors",
    "Foods",
    "Air",
    "Bank",
    "Labs",
    "Media",
    "Energy",
    "Textiles",
    "Optics",
    "Rail",
    "Paper",
]
ENDINGS = [["Ltd"], ["Inc"], ["Group"], [], ["&", "Sons"]]
TEMPLATES = [
    "PER works for ORG in LOC",
    "ORG opened a new office in LOC last spring",
    "yesterday PER and PER flew from LOC to LOC",
    "the head of ORG , PER , said that sales in LOC had risen",
    "shares of ORG fell after PER left the firm",
    "PER was born in LOC and studied in LOC",
    "in LOC the weather was fine , PER wrote",
    "ORG and ORG will merge , according to PER",
    "nobody in LOC had heard of PER before",
    "the train from LOC was late again",
    "they asked ORG for a loan and got it",
    "a spring morning in the office of PER at ORG",
]


def cities() -> list[list[str]]:
    """The cities that name time zones."""
    zones = (zone.split("/") for zone in sorted(zoneinfo.available_timezones()))
    names = {
        zone[-1]
        for zone in zones
        if len(zone) > 1 and zone[0] in ("Europe", "Asia", "Africa", "America")
    }
    return [
        name.replace("_", " ").split() for name in sorted(names) if name.replace("_", "").isalpha()
    ]


def split(items: list) -> tuple[list, list]:
    """What may be seen in training, and what is new in the test."""
    items = list(items)
    random.shuffle(items)
    return items[: 2 * len(items) // 3], items[2 * len(items) // 3 :]


def sentence(people: tuple[list, list], places: list, owners: list) -> tuple[list[str], list[str]]:
    """Words and their tags."""
    words, tags = [], []
    for word in random.choice(TEMPLATES).split():
        if word == "PER":
            name = [random.choice(people[0]), random.choice(people[1])]
            if random.random() < 0.3:
                name = name[1:]
        elif word == "LOC":
            name = random.choice(places)
        elif word == "ORG":
            name = [random.choice(owners), random.choice(FIRMS), *random.choice(ENDINGS)]
        else:
            words.append(word)
            tags.append("O")
            continue
        words += name
        tags += [f"B-{word}"] + [f"I-{word}"] * (len(name) - 1)
    words[0] = words[0].capitalize()
    return words, tags


def entities(tags: list[str]) -> set[tuple[int, int, str]]:
    """Where names begin and end, and what they are."""
    found, begin = set(), None
    for i, tag in enumerate([*tags, "O"]):
        if begin is not None and not (tag[0] == "I" and tag[2:] == tags[begin][2:]):
            found.add((begin, i, tags[begin][2:]))
            begin = None
        if tag[0] == "B" or (tag[0] == "I" and begin is None):
            begin = i
    return found


class Tagger(nn.Module):
    """Words as vectors and by their letters, read in both directions, a tag for each."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.word = nn.Embedding(words, width, padding_idx=0)
        self.letter = nn.Embedding(128, 16, padding_idx=0)
        self.spelling = nn.Conv1d(16, width, 3, padding=1)
        self.drop = nn.Dropout(0.3)
        self.reader = nn.LSTM(2 * width, width, batch_first=True, bidirectional=True)
        self.tag = nn.Linear(2 * width, len(TAGS))

    def forward(self, words: weft.Tensor, letters: weft.Tensor, lengths: list[int]) -> weft.Tensor:
        batch, length, longest = letters.shape
        spelt = self.letter(letters).view(batch * length, longest, 16).transpose(1, 2)
        spelt = F.relu(self.spelling(spelt)).amax(2).view(batch, length, -1)
        x = self.drop(weft.cat([self.word(words), spelt], 2))
        packed = nn.utils.rnn.pack_padded_sequence(
            x, lengths, batch_first=True, enforce_sorted=False
        )
        y, _ = nn.utils.rnn.pad_packed_sequence(self.reader(packed)[0], batch_first=True)
        return self.tag(self.drop(y))


def batch_of(
    sentences: list, number: dict[str, int]
) -> tuple[weft.Tensor, weft.Tensor, list[int], weft.Tensor]:
    """Words, letters, lengths and tags as tensors; a rare word is sometimes hidden."""
    lengths = [len(words) for words, _ in sentences]
    shape = (len(sentences), max(lengths))
    words, tags = weft.zeros(shape, dtype=weft.int64), weft.full(shape, -100)
    letters = weft.zeros(*shape, 14, dtype=weft.int64)
    for i, (row, marks) in enumerate(sentences):
        words[i, : len(row)] = weft.tensor([number.get(word, 1) for word in row])
        tags[i, : len(row)] = weft.tensor([TAGS.index(mark) for mark in marks])
        spelt = [
            [min(ord(c), 127) for c in word[:14]] + [0] * (14 - len(word[:14])) for word in row
        ]
        letters[i, : len(row)] = weft.tensor(spelt)
    return words, letters, lengths, tags


def main() -> None:
    args = arguments(__doc__, steps=400, width=48)
    weft.manual_seed(0)
    random.seed(0)
    first, last, places, owners = (split(part) for part in (FIRST, LAST, cities(), LAST))
    plain = {word for template in TEMPLATES for word in template.split()}
    number = {word: k + 2 for k, word in enumerate(sorted(plain | set(FIRMS)))}

    def some(count: int, new: float) -> list:
        def pool(part: tuple[list, list]) -> list:
            return part[1] if random.random() < new else part[0]

        return [
            sentence((pool(first), pool(last)), pool(places), pool(owners)) for _ in range(count)
        ]

    model = Tagger(len(number) + 2, args.width)
    optimizer = weft.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = weft.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    losses = []
    for _ in (bar := rounds(args.steps, "step")):
        words, letters, lengths, tags = batch_of(some(32, 0.0), number)
        loss = F.cross_entropy(model(words, letters, lengths).flatten(0, 1), tags.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        say(bar, loss=losses[-1])

    model.eval()
    sentences = some(500, 0.5)
    words, letters, lengths, _ = batch_of(sentences, number)
    with weft.no_grad():
        guesses = model(words, letters, lengths).argmax(2).tolist()
    hits = said = true = 0
    marks = []
    for (row, tags), guess, length in zip(sentences, guesses, lengths):
        told, real = entities([TAGS[t] for t in guess[:length]]), entities(tags)
        hits, said, true = hits + len(told & real), said + len(told), true + len(real)
        marks.append((row, [TAGS[t] for t in guess[:length]]))
    score = 2 * hits / max(1, said + true)
    table = [("found", "precision", "recall", "F1")]
    table.append(
        (f"{hits} of {true}", f"{hits / max(1, said):.3f}", f"{hits / true:.3f}", f"{score:.3f}")
    )
    picture, axes = figure(height=3.4)
    axes.axis("off")
    colours = {"PER": "#ffd39b", "LOC": "#b4eeb4", "ORG": "#b0c4ff"}
    for line, (row, tags) in enumerate(marks[:9]):
        at = 0.0
        for word, tag in zip(row, tags):
            box = {"boxstyle": "round,pad=0.15", "fc": colours.get(tag[2:], "none"), "ec": "none"}
            axes.text(at, -line, word, size=9, bbox=box, family="monospace")
            at += 0.0098 * (len(word) + 1)
    axes.set(xlim=(0, 1), ylim=(-9, 1))
    axes.set_title(
        "people (orange), places (green), firms (blue), as the network sees them", size=9
    )
    conclude(
        "F1 over whole names in new sentences", score, at_least=0.95, picture=picture, table=table
    )


if __name__ == "__main__":
    main()
