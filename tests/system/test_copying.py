"""All parts together: a tiny model learns, in half a minute, to copy sequences that it has never seen.

Random symbols cannot be guessed: that needs attention at the right place, positions, masks, the shift of the target,
the schedule, and a decoder that asks for what training taught.
"""

import numpy as np
from random_params import param_shapes
from tiny_experiment import encoded, tiny_experiment

from transformer_jax.data.encoded import EncodedCorpus
from transformer_jax.decoding.generate import Generator
from transformer_jax.model.transformer import Transformer
from transformer_jax.training.checkpoint import Checkpoints
from transformer_jax.training.loop import Observer, train

VOCAB_SIZE = 23
EXPERIMENT = tiny_experiment(
    num_layers=1,
    d_model=32,
    d_ff=64,
    num_heads=4,
    d_k=8,
    d_v=8,
    dropout_rate=0.0,
    vocab_size=VOCAB_SIZE,
    tokens_per_batch=1280,
    tokens_per_device=1280,
    num_shapes=1,
    warmup_steps=100,
    label_smoothing=0.0,
    num_steps=500,
    log_every_steps=100,
    evaluate_every_steps=1000,
    checkpoint_every_steps=1000,
    average_checkpoints=1,
    beam_size=1,
    max_extra_length=3,
)


def symbols(seed: int, count: int) -> list[list[int]]:
    """Sequences of 1 to 9 symbols."""
    rng = np.random.default_rng(seed)
    return [rng.integers(4, VOCAB_SIZE, rng.integers(1, 10)).tolist() for _ in range(count)]


def copies(sequences: list[list[int]]) -> EncodedCorpus:
    return EncodedCorpus(encoded(sequences), encoded(sequences))


def test_a_tiny_model_learns_to_copy(tmp_path):
    seen = symbols(1, 4000)
    unseen = [sequence for sequence in symbols(2, 300) if sequence not in seen]
    assert len(unseen) > 200
    records = []
    train(EXPERIMENT, copies(seen), copies(unseen), tmp_path, Observer(records.append, print, lambda: False))
    assert records[-1]["perplexity"] < 1.05

    params, steps = Checkpoints(tmp_path / "checkpoints", keep=1).average(1, param_shapes(EXPERIMENT.model, VOCAB_SIZE))
    assert steps == [500]
    sources = copies(unseen).sources
    generator = Generator(Transformer(EXPERIMENT.model, VOCAB_SIZE), params, EXPERIMENT.decoding)
    hypotheses = generator.generate([sources[i].tolist() for i in range(len(unseen))])
    exact = np.mean([best.ids == sequence for (best, *_), sequence in zip(hypotheses, unseen, strict=True)])
    assert exact >= 0.95
