"""A run that was never trained: two layers, three heads, random weights and a small vocabulary."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import jax
import numpy as np
from random_params import random_params
from tiny_experiment import tiny_experiment

from experiments.attention.run import Run
from experiments.weights import Weights
from transformer_jax.data.vocabularies.sentencepiece_vocabulary import learn_vocabulary
from transformer_jax.model.transformer import Transformer
from transformer_jax.special_ids import EOS_ID, PAD_ID

SENTENCES = ["the old cat sees a lamp", "a woman likes the big street", "die alte Katze mag eine Lampe"]


def random_run() -> Run:
    vocabulary = learn_vocabulary(SENTENCES, 40)
    experiment = tiny_experiment(num_layers=2, vocab_size=40, max_length=48)
    params = random_params(experiment.model, vocabulary.size, seed=1)
    return Run(
        Path("random"), experiment, vocabulary, Transformer(experiment.model, vocabulary.size), Weights(params, [1])
    )


def model_weights(run: Run, pairs: Sequence[tuple[str, str]]) -> list[dict[str, np.ndarray]]:
    """What the model itself says of each pair alone: [layers, H, Q, M] of each stack.

    In one shape: padding is not read, and what is beyond a target's own end cannot be seen from before it.
    """
    read = jax.jit(partial(run.model.apply, method="attention_weights"))
    length, found = run.experiment.model.max_length, []
    for pair in pairs:
        sides = [[*run.vocabulary.encode(text), EOS_ID] for text in pair]
        source, target = map(len, sides)
        weights = read(
            {"params": run.weights.params},
            *(np.array([ids + [PAD_ID] * (length - len(ids))], np.int32) for ids in sides),
        )
        sizes = {"encoder": (source, source), "decoder": (target, target), "source": (target, source)}
        found.append({name: np.asarray(getattr(weights, name))[:, 0, :, :q, :m] for name, (q, m) in sizes.items()})
    return found
