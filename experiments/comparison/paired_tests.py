"""Is the difference in BLEU between two systems more than chance, on this test set?

sacreBLEU's two paired tests: the bootstrap (Koehn 2004), which resamples sentences, and approximate randomisation
(Riezler and Maxwell 2005), which swaps the two systems' translations of a sentence by a coin. Either has a weakness
where it is needed most, between systems that are nearly the same:

- the bootstrap's p-value is of the absolute difference less its mean, and comes out too small for differences that are
  noise alone;
- the randomisation counts only differences greater than the one seen. Where few sentences differ, many swaps give the
  very same difference, and a single other sentence is p = 0.0001.

So the randomisation is done once more with ties counted, and the verdict goes by the largest of the three p-values.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Int
from sacrebleu.significance import PairedTest

from experiments.comparison.run import ComparisonError
from transformer_jax.metrics.bleu import bleu_metric
from transformer_jax.metrics.significance import Difference, bleu, paired_bleu_difference

SIGNIFICANT = 0.05
_CHUNK = 1_000  # trials at hand at a time


@dataclass(frozen=True)
class Tested:
    """B's BLEU less A's, with a 95 % interval, and each test's name and p-value."""

    difference: Difference
    p_values: dict[str, float]
    signatures: tuple[str, ...]  # sacreBLEU's, with numbers of trials and seed

    @property
    def p_value(self) -> float:
        return max(self.p_values.values())

    @property
    def better(self) -> Literal["A", "B", None]:
        """Which one; None: they cannot be told apart."""
        if self.p_value > SIGNIFICANT:
            return None
        return "B" if self.difference.value > 0 else "A"


def paired_tests(
    a: Sequence[str],
    b: Sequence[str],
    references: Sequence[str],
    statistics: tuple[Int[np.ndarray, "sentences 10"], Int[np.ndarray, "sentences 10"]],
    *,
    tokenizer: str,
    samples: int = 1_000,
    trials: int = 10_000,
) -> Tested:
    """All tests of two systems' translations; `statistics` is `sentence_statistics` of a's and of b's.

    `samples` and `trials`, of the bootstrap and of the randomisation, are as sacreBLEU has them.

    Raises ComparisonError for a seed in the environment that would not repeat.
    """
    seed = _seed()
    bootstrap, bootstrap_signature = _sacrebleu(a, b, references, tokenizer, "bs", samples)
    randomisation, randomisation_signature = _sacrebleu(a, b, references, tokenizer, "ar", trials)
    p_values = {
        "paired bootstrap": bootstrap,
        "approximate randomisation": randomisation,
        "approximate randomisation, ties counted": randomisation_with_ties(*statistics, seed=seed, trials=trials),
    }
    ours, theirs = statistics
    difference = paired_bleu_difference(theirs[None], ours[None], seed=seed)
    return Tested(difference, p_values, (bootstrap_signature, randomisation_signature))


def randomisation_with_ties(
    a: Int[np.ndarray, "sentences 10"], b: Int[np.ndarray, "sentences 10"], *, seed: int, trials: int
) -> float:
    """How often systems whose translations of each sentence are swapped by a coin differ at least as much in BLEU."""
    random = np.random.default_rng(seed)
    swapped = (b - a)[(a != b).any(axis=1)].astype(np.float64)  # sums of integers stay exact
    total_a, total_b = a.sum(0), b.sum(0)
    seen, as_large = abs(bleu(total_b) - bleu(total_a)), 0
    for start in range(0, trials, _CHUNK):
        coins = random.integers(2, size=(min(_CHUNK, trials - start), len(swapped))).astype(np.float64)
        moved = coins @ swapped
        as_large += int((abs(bleu(total_b - moved) - bleu(total_a + moved)) >= seen).sum())
    return (as_large + 1) / (trials + 1)


def _sacrebleu(
    a: Sequence[str], b: Sequence[str], references: Sequence[str], tokenizer: str, kind: Literal["bs", "ar"], count: int
) -> tuple[float, str]:
    """The p-value and the signature of sacreBLEU's own test, of `count` samples or trials."""
    systems: list[tuple[str, Sequence[str]]] = [("A", a), ("B", b)]
    signatures, results = PairedTest(systems, {"BLEU": bleu_metric(tokenizer)}, [references], kind, count)()
    (_, theirs) = results["BLEU"]
    return float(theirs.p_value), str(signatures["BLEU"])  # type: ignore[union-attr, arg-type]


def _seed() -> int:
    """sacreBLEU's seed, from where sacreBLEU takes it. Its "none", and 0, would be another one each time."""
    seed = os.environ.get("SACREBLEU_SEED", "12345")
    if not (seed.isdecimal() and int(seed) > 0):
        raise ComparisonError(f"SACREBLEU_SEED={seed}: must be a whole number above 0, so that results repeat")
    return int(seed)
