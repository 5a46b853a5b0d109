"""The smallest experiment that trains, and sentence pairs made of random ids."""

import dataclasses

import numpy as np

from transformer_jax import config
from transformer_jax.data.encoded import EncodedCorpus, Sequences
from transformer_jax.special_ids import EOS_ID

VOCAB_SIZE = 37


def tiny_experiment(**changes) -> config.Experiment:
    """Sizes are different primes, but for d_model. Changes by field, of the first part that has it: `num_steps=3`."""
    parts = config.Experiment(
        config.Model(
            num_layers=1, d_model=14, d_ff=23, num_heads=3, d_k=5, d_v=7, dropout_rate=0.1,
            attention_dropout_rate=0.0, feed_forward_dropout_rate=0.0, positions="sinusoidal", max_length=31,
            encoder_neighbourhood=None, decoder_neighbourhood=None,
            pre_norm=False, attention_biases=False, shared_embedding=True, layer_norm_epsilon=1e-6,
            compute_dtype="float32",
            rematerialise="nothing",
        ),
        config.Data(
            source_language="en", target_language="de", train="train.tsv", dev="dev.tsv", test="test.tsv",
            directory="", vocabulary="bpe", vocab_size=VOCAB_SIZE, vocab_sample=None,
            merge_across_scripts=False, max_train_length=29, cache_directory="cache",
        ),
        config.Cleaning(empty=False, identical=False, max_words=None, max_length_ratio=None, duplicate=False),
        config.Trees(
            remove_traces=True, remove_function_labels=True, collapse_unary_loops=False, leaves="tags",
        ),
        config.Batching(tokens_per_batch=64, tokens_per_device=64, num_shapes=2),
        config.Optimizer(
            beta1=0.9, beta2=0.98, epsilon=1e-9, warmup_steps=5, learning_rate_scale=1.0, max_gradient_norm=None
        ),
        config.Training(
            label_smoothing=0.1, label_smoothing_over="others", num_steps=10, seed=3,
            random_bits="threefry2x32", deterministic=False, log_every_steps=2,
            evaluate_every_steps=100, patience=None, checkpoint_every_steps=100, checkpoint_every_minutes=None,
            keep_checkpoints=3, skip_non_finite=0,
        ),
        config.Decoding(
            average_checkpoints=3, beam_size=2, length_penalty=0.6, length_penalty_offset=5.0, stop="bound",
            max_length_ratio=1.0, max_extra_length=5, min_length_ratio=0.0, sampling_temperature=None,
            sampling_top_k=None, sampling_nucleus=None, sampling_seed=1, tokens_per_batch=256,
            constrained_to_trees=False,
            constrained_to_inventory=False,
        ),
        config.Scoring(bleu_tokenizer="none", test_rows=None, bracketing_parameters=None),
    )  # fmt: skip
    changed = {}
    for part, value in vars(parts).items():
        own = {name: changes.pop(name) for name in vars(value).keys() & changes.keys()}
        changed[part] = dataclasses.replace(value, **own)
    assert not changes, f"no part has {changes}"
    return config.Experiment(**changed)


def encoded(sentences: list[list[int]]) -> Sequences:
    """Ids without an end token, which is added."""
    ids = [id for sentence in sentences for id in [*sentence, EOS_ID]]
    lengths = [len(sentence) + 1 for sentence in sentences]
    return Sequences.of(np.array(ids, np.uint16), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


def random_corpus(seed: int, pairs: int, *, longest: int = 7) -> EncodedCorpus:
    """Pairs of sides of 1 to `longest` ids, which have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    sides = [[rng.integers(4, VOCAB_SIZE, rng.integers(1, longest + 1)).tolist() for _ in range(pairs)] for _ in "st"]
    return EncodedCorpus(*map(encoded, sides))
