"""Recognises spoken numbers: cepstra of the sound, a recurrent network, letters without alignment (CTC).

The program is its own speaker: each word is a row of phonemes, each phoneme a few resonances of the
mouth (formants), and between them the resonances glide. Speakers differ in pitch, size of the mouth,
speed and accent, and there is noise. The network hears two to four words, knows their letters but not
when they were said, and is tested with recordings (WAV files) of speakers that it never heard.

Goal: the word error rate with unseen speakers is at most 0.15.

    python -m weft examples speech
"""

import math
import random
from dataclasses import dataclass

from common import DATA, SMOKE, arguments, conclude, figure, rounds, say

import weft
from weft import audio, nn
from weft.nn import functional as F
from weft.nn.utils.rnn import pad_sequence

RATE, FRAME, WINDOW = (
    8000,
    32,
    128,
)  # samples per second, per step of the mouth, per window of noise
RECORDINGS = DATA / "speech"
LETTERS = "_ efghinorstuvwxz"  # the first is the blank of CTC, the second stands between words
WORDS = {
    "zero": "z i r o", "one": "w a n", "two": "t u", "three": "T r i", "four": "f o r", "five": "f a I v",
    "six": "s I k s", "seven": "s e v e n", "eight": "e I t", "nine": "n a I n",
}  # fmt: skip

# Of each phoneme: three formants in Hz, how loud the voice is, how loud the breath is, the centre and
# width of the breath in Hz, and how long it lasts in seconds.
PHONEMES = {
    "i": (280, 2250, 2900, 1.0, 0, 3000, 800, 0.12), "I": (400, 1950, 2550, 1.0, 0, 3000, 800, 0.10),
    "e": (530, 1800, 2480, 1.0, 0, 3000, 800, 0.11), "a": (720, 1200, 2550, 1.0, 0, 3000, 800, 0.13),
    "o": (500, 900, 2400, 1.0, 0, 3000, 800, 0.14), "u": (310, 870, 2250, 1.0, 0, 3000, 800, 0.14),
    "r": (350, 1100, 1500, 0.7, 0, 3000, 800, 0.08), "w": (300, 650, 2200, 0.6, 0, 3000, 800, 0.08),
    "n": (250, 1400, 2300, 0.4, 0, 3000, 800, 0.09), "v": (250, 1100, 2200, 0.3, 0.15, 2200, 1500, 0.07),
    "z": (250, 1600, 2500, 0.25, 0.5, 3500, 500, 0.09), "s": (300, 1600, 2500, 0, 0.8, 3500, 500, 0.12),
    "f": (300, 1100, 2200, 0, 0.25, 2400, 1500, 0.10), "T": (300, 1400, 2500, 0, 0.3, 3000, 1000, 0.10),
    "t": (300, 1700, 2600, 0, 1.0, 3300, 700, 0.02), "k": (300, 1800, 2400, 0, 0.9, 1900, 500, 0.02),
    "-": (300, 1400, 2400, 0, 0, 3000, 800, 0.05),
}  # fmt: skip


@dataclass
class Speaker:
    """Somebody with a voice of their own."""

    pitch: float
    mouth: float
    speed: float
    accent: dict[str, float]

    @classmethod
    def anybody(cls) -> "Speaker":
        accent = {phoneme: random.gauss(1, 0.06) for phoneme in PHONEMES}
        pitch, mouth = random.uniform(85, 250), random.uniform(0.82, 1.18)
        return cls(pitch, mouth, speed=random.uniform(0.8, 1.25), accent=accent)

    def tracks(self, words: list[str]) -> weft.Tensor:
        """Seven numbers of the mouth for each frame: (7, frames)."""
        parts = []
        for word in ["", *words, ""]:
            sounds = WORDS[word].split() if word else []
            for sound in sounds:
                if sound in "tk":
                    parts.append(("-", 0.05))  # the mouth closes before it bursts open
                parts.append((sound, PHONEMES[sound][-1] * random.uniform(0.8, 1.25) / self.speed))
            parts.append(("-", random.uniform(0.03, 0.12)))
        frames = []
        for sound, seconds in parts:
            row = weft.tensor(PHONEMES[sound][:-1], dtype=weft.float32)
            row[:3] *= self.mouth * self.accent[sound] * random.gauss(1, 0.03)
            frames += [row] * max(round(seconds * RATE / FRAME), 2)
        steps = F.pad(weft.stack(frames, 1).unsqueeze(0), (5, 5), mode="replicate")
        return F.avg_pool1d(steps, 11, 1)[0]  # sounds glide into each other

    def say(self, words: list[str]) -> weft.Tensor:
        """The sound of some words, with noise."""
        tracks = self.tracks(words)
        length = tracks.shape[1] * FRAME
        formants, voice, breath, centre, width = tracks[:3], *tracks[3:]
        # The voice: harmonics of the pitch, each as loud as the mouth lets it through.
        time = weft.arange(length) / length
        melody = self.pitch * (random.gauss(1.08, 0.03) - 0.2 * time + 0.03 * (20 * time).sin())
        phase = (melody / RATE * math.tau).cumsum(0)
        count = int(0.95 * RATE / 2 / melody.max().item())
        harmonic = weft.arange(1, count + 1).unsqueeze(1)
        pitch = harmonic * melody[::FRAME]
        gain = 0.02 + sum(
            weight / (1 + ((pitch - f) / 90).square()) for f, weight in zip(formants, (1, 0.6, 0.3))
        )
        loud = (gain * voice / harmonic.sqrt()).unsqueeze(0)
        loud = F.interpolate(loud, size=length, mode="linear", align_corners=False)[0]
        sound = 0.1 * (loud * (harmonic * phase).sin()).sum(0)
        # The breath: noise within a band that moves.
        window = weft.hann_window(WINDOW)
        noise = weft.stft(weft.randn(length), WINDOW, FRAME, window=window, return_complex=True)
        pitch = weft.linspace(0, RATE / 2, len(noise)).unsqueeze(1)
        band = 0.3 * breath * weft.exp(-((pitch - centre * self.mouth**0.5) / width).square())
        band = F.pad(band.unsqueeze(0), (0, 1), mode="replicate")[0]
        sound = sound + weft.istft(noise * band, WINDOW, FRAME, window=window, length=length)
        sound = sound / sound.abs().max()
        return 0.7 * sound + random.uniform(0.01, 0.08) * weft.randn(length)


def utterances(speakers: list[Speaker], count: int) -> tuple[list[weft.Tensor], list[str]]:
    """Sounds, and what is said in each of them."""
    texts = [random.choices(list(WORDS), k=random.randint(2, 4)) for _ in range(count)]
    sounds = [speakers[k % len(speakers)].say(words) for k, words in enumerate(texts)]
    return sounds, [" ".join(words) for words in texts]


def recorded(sounds: list[weft.Tensor]) -> list[weft.Tensor]:
    """Write the sounds to WAV files of 16 bits, and read them again."""
    RECORDINGS.mkdir(parents=True, exist_ok=True)
    back = []
    for k, sound in enumerate(sounds):
        path = RECORDINGS / f"{k:03}.wav"
        audio.save(path, sound.unsqueeze(0), RATE, encoding="PCM_S", bits_per_sample=16)
        wave, rate = audio.load(path)
        assert rate == RATE
        back.append(wave[0])
    return back


class Listener(nn.Module):
    """Cepstra, and how they change, to scores of letters for each frame."""

    def __init__(self, width: int) -> None:
        super().__init__()
        settings = {"n_fft": 256, "hop_length": 128, "n_mels": 32}
        self.cepstra = audio.transforms.MFCC(RATE, 16, melkwargs=settings)
        self.change = audio.transforms.ComputeDeltas(5)
        self.gru = nn.GRU(32, width, num_layers=2, bidirectional=True, dropout=0.2)
        self.score = nn.Linear(2 * width, len(LETTERS))

    def features(self, sound: weft.Tensor) -> weft.Tensor:
        """(frames, 32), each with the mean 0 and the deviation 1 over the recording."""
        cepstra = self.cepstra(sound)
        rows = weft.cat([cepstra, self.change(cepstra)]).T
        return (rows - rows.mean(0)) / rows.std(0)

    def forward(self, features: weft.Tensor) -> weft.Tensor:
        """Of (frames, recordings, 32), the logarithms of probabilities of letters."""
        return self.score(self.gru(features)[0]).log_softmax(2)


def letters_of(scores: weft.Tensor) -> tuple[str, list[int]]:
    """The likeliest letter of each frame, without repeats and blanks; and the frame of each letter."""
    best = scores.argmax(1).tolist()
    kept = [k for k, i in enumerate(best) if i and (k == 0 or best[k - 1] != i)]
    return "".join(LETTERS[best[k]] for k in kept), kept


def edits(said: list[str], heard: list[str]) -> int:
    """How many words must be changed, added or taken away to get from one to the other."""
    row = list(range(len(heard) + 1))
    for i, word in enumerate(said, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(heard, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (word != other))
    return row[-1]


def main() -> None:
    args = arguments(__doc__, epochs=10, utterances=640, width=64)
    weft.manual_seed(0)
    random.seed(0)
    weft.set_num_threads(1)  # the network is too small for more
    model = Listener(args.width)
    sounds, texts = utterances(
        [Speaker.anybody() for _ in range(80)], 32 if SMOKE else args.utterances
    )
    new_sounds, new_texts = utterances([Speaker.anybody() for _ in range(20)], 8 if SMOKE else 120)
    new_sounds = recorded(new_sounds)
    with weft.no_grad():
        features = [model.features(sound) for sound in sounds]
        new_features = [model.features(sound) for sound in new_sounds]
    numbers = [weft.tensor([LETTERS.index(c) for c in text]) for text in texts]

    hide = nn.Sequential(audio.transforms.TimeMasking(6), audio.transforms.FrequencyMasking(4))
    optimizer = weft.optim.AdamW(model.parameters(), lr=3e-3)
    steps = args.epochs * -(-len(sounds) // 32)
    scheduler = weft.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, total_steps=steps)
    losses = []
    for _ in (bar := rounds(args.epochs)):
        for batch in weft.randperm(len(sounds)).split(32):
            chosen = [features[k] for k in batch.tolist()]
            spoken = [numbers[k] for k in batch.tolist()]
            heard = hide(pad_sequence(chosen).permute(1, 2, 0)).permute(2, 0, 1)
            frames, lengths = [len(f) for f in chosen], [len(n) for n in spoken]
            loss = F.ctc_loss(
                model(heard), weft.cat(spoken), weft.tensor(frames), weft.tensor(lengths)
            )
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
        say(bar, loss=losses[-1])

    model.eval()
    with weft.no_grad():
        scores = [model(f.unsqueeze(1))[:, 0] for f in new_features]
    heard = [letters_of(s)[0] for s in scores]
    wrong = sum(edits(a.split(), b.split()) for a, b in zip(new_texts, heard))
    table = [(f"{'said':<26}", "heard"), *((f"{new_texts[k]:<26}", heard[k]) for k in range(6))]

    picture, (top, middle, bottom) = figure(3, 1, width=9, height=7.5)
    k = max(range(len(heard)), key=lambda i: (new_texts[i] == heard[i], len(new_texts[i])))
    mel = audio.transforms.MelSpectrogram(RATE, n_fft=256, hop_length=128, n_mels=48)(new_sounds[k])
    loudness = audio.transforms.AmplitudeToDB(top_db=60)(mel).numpy()
    top.imshow(loudness, origin="lower", aspect="auto", cmap="magma")
    for letter, frame in zip(*letters_of(scores[k])):
        top.text(frame, 49, letter, ha="center", va="bottom", size=11)
    top.set_title(f"heard: {heard[k]} (said: {new_texts[k]})", size=10, pad=18)
    top.set(xticks=[], ylabel="mel band")
    likely = scores[k].exp().T.numpy()
    middle.imshow(likely[1:], aspect="auto", cmap="Greys", vmin=0, vmax=1)
    middle.set_yticks(range(len(LETTERS) - 1), ["␣", *LETTERS[2:]], size=6)
    middle.set(xlabel="frame of 16 ms", ylabel="letter")
    bottom.plot(losses)
    bottom.set(xlabel="step", ylabel="CTC loss", yscale="log")
    total = sum(len(text.split()) for text in new_texts)
    conclude(
        "word error rate with unseen speakers",
        wrong / total,
        at_most=0.15,
        picture=picture,
        table=table,
    )


if __name__ == "__main__":
    main()
