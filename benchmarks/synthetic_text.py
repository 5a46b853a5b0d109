"""A parallel corpus of made-up words, of any size, whose sentences are as long as those of news.

Lengths of the two sides are drawn together: the longer the source, the longer the target. Words follow Zipf's law, and
are made of syllables, so that byte-pair encoding has something to find.
"""

from pathlib import Path

import numpy as np

_WORDS, _CHUNK = 200_000, 100_000
_SYLLABLES = [first + vowel + last for first in "bdfgklmnprstvz" for vowel in ("a", "e", "i", "o", "u", "ei", "au")
              for last in ("", "n", "r", "s", "t")]  # fmt: skip


def write_text(folder: Path, pairs: int, *, mean_words: float, seed: int = 1) -> tuple[Path, Path]:
    """Two files in `folder`, made unless they are there."""
    paths = folder / f"{pairs}.{mean_words:g}.source", folder / f"{pairs}.{mean_words:g}.target"
    if all(path.exists() for path in paths):
        return paths
    rng = np.random.default_rng(seed)
    words = [_made_up_words(rng) for _ in paths]
    parts = [path.with_suffix(path.suffix + ".part") for path in paths]
    with parts[0].open("w") as source, parts[1].open("w") as target:
        for start in range(0, pairs, _CHUNK):
            for file, lengths, own in zip(
                (source, target), _lengths(rng, min(_CHUNK, pairs - start), mean_words), words, strict=True
            ):
                file.writelines(_sentences(rng, own, lengths))
    for part, path in zip(parts, paths, strict=True):
        part.rename(path)
    return paths


def _made_up_words(rng: np.random.Generator) -> np.ndarray:
    syllables = np.array(_SYLLABLES, object)
    counts = rng.integers(1, 4, _WORDS)
    drawn = iter(syllables[rng.integers(0, len(syllables), counts.sum())])
    return np.array(["".join(next(drawn) for _ in range(count)) for count in counts], object)


def _lengths(rng: np.random.Generator, pairs: int, mean_words: float) -> tuple[np.ndarray, np.ndarray]:
    """Words of each side: skewed to the right, and the target 0.96 times as long, give or take what chance adds up to.

    The shape, the ratio and the spread are those of newstest2008 to 2020, English to German.
    """
    source = np.clip(rng.gamma(3.06, mean_words / 3.06, pairs), 1, 200).astype(int)
    return source, np.clip(0.96 * source + 0.75 * np.sqrt(source) * rng.normal(size=pairs), 1, 200).astype(int)


def _sentences(rng: np.random.Generator, words: np.ndarray, lengths: np.ndarray) -> list[str]:
    ranks = (rng.zipf(1.15, lengths.sum()) - 1) % _WORDS
    drawn, ends = words[ranks].tolist(), np.cumsum(lengths)
    return [
        " ".join(drawn[end - length : end]) + "\n" for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)
    ]
