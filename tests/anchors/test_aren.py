"""Our model and our search, with the weights of a trained model, give what CTranslate2 gives.

Fifty names: the log-probability of every token, and greedy and beam search with and without a length penalty.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from anchors.aren import MODEL, Aren, load
from random_params import param_shapes

from transformer_jax.config import StopRule
from transformer_jax.decoding.beam_search import Rules, beam_search, last_ids
from transformer_jax.decoding.hypotheses import Hypotheses
from transformer_jax.model.transformer import Transformer, empty_cache
from transformer_jax.special_ids import BOS_ID, EOS_ID, PAD_ID

pytestmark = pytest.mark.usefixtures("quick_to_compile")
LOADED: dict[str, Aren] = {}


@pytest.fixture
def aren(shared) -> Aren:
    folder = shared / "data" / "pretrained" / "aren_transliteration"
    return LOADED.setdefault(str(folder), load(folder))


def padded(sequences: list[list[int]], length: int) -> jax.Array:
    return jnp.array([ids + [PAD_ID] * (length - len(ids)) for ids in sequences])


def sources(aren: Aren) -> jax.Array:
    """Without an end token, which this model does not read."""
    return padded([[aren.source_ids[token] for token in case["source"]] for case in aren.cases], 11)


@partial(jax.jit, static_argnames="vocab_size")
def log_probs(params, logit_bias, source, target, *, vocab_size):
    logits = Transformer(MODEL, vocab_size).apply({"params": params}, source, target, deterministic=True)
    return jax.nn.log_softmax(logits + logit_bias)


def kept(beam_size: int, alpha: float, stop: StopRule = "beam_finished") -> Rules:
    """CTranslate2's, with its stop rule."""
    return Rules(beam_size, alpha, offset=0.0, stop=stop, bos_id=BOS_ID, eos_id=EOS_ID, pad_id=PAD_ID)


@partial(jax.jit, static_argnames=("vocab_size", "rules"))
def search(params, logit_bias, source, *, vocab_size, rules) -> Hypotheses:
    model, variables = Transformer(MODEL, vocab_size), {"params": params}
    encoded = model.apply(variables, source, deterministic=True, method="encode")

    def step(live, position, cache):
        ids = last_ids(live, position, BOS_ID)
        logits, cache = model.apply(variables, ids, live.lanes, position, cache, encoded, method="decode_step")
        # CTranslate2 asks for one token at least, and normalises what is left.
        ending_at_once = (jnp.arange(vocab_size) == EOS_ID) & (position == 0)
        return jax.nn.log_softmax(jnp.where(ending_at_once, -jnp.inf, logits + logit_bias)), cache

    cache = empty_cache(MODEL, source.shape[0], rules.beam_size, MODEL.max_length)
    limits = jnp.full(source.shape[0], MODEL.max_length)
    return beam_search(step, cache, limits, rules, max_steps=MODEL.max_length)


def found(aren: Aren, rules: Rules) -> list[list[tuple[list[str], float]]]:
    """Each case's finished hypotheses, best first: tokens without the end token, and the score."""
    result = search(aren.params, aren.logit_bias, sources(aren), vocab_size=aren.vocab_size, rules=rules)
    tokens = list(aren.target_ids)
    return [
        [([tokens[i] for i in ids[: length - 1]], float(score)) for ids, length, score in zip(*row, strict=True)]
        for row in zip(*map(np.asarray, (result.ids, result.lengths, result.scores)), strict=True)
    ]


def test_its_weights_are_all_of_our_model_s_parameters(aren):
    expected = jax.tree.map(lambda leaf: leaf.shape, param_shapes(MODEL, aren.vocab_size))
    assert jax.tree.map(np.shape, aren.params) == expected


@pytest.mark.parametrize(
    ("tokens", "expected"), [("greedy", "greedy_token_logprobs"), ("forced_target", "forced_token_logprobs")]
)
def test_every_token_has_ctranslate2_s_log_probability(tokens, expected, aren):
    """Of its own outputs, and of a word that it would never write."""
    targets = [[aren.target_ids[token] for token in case[tokens]] + [EOS_ID] for case in aren.cases]
    ours = log_probs(aren.params, aren.logit_bias, sources(aren), padded(targets, 12), vocab_size=aren.vocab_size)
    for case, target, rows in zip(aren.cases, targets, ours, strict=True):
        np.testing.assert_allclose(rows[np.arange(len(target)), target], case[expected], atol=1e-5)


def test_greedy_search_finds_the_same(aren):
    """The score is the mean over the tokens, the end token among them."""
    for case, [(tokens, score)] in zip(aren.cases, found(aren, kept(1, 1.0)), strict=True):
        assert tokens == case["greedy"]
        assert score == pytest.approx(case["greedy_score"], abs=1e-5)


@pytest.mark.parametrize(("name", "alpha"), [("beam4_lp0", 0.0), ("beam4_lp06", 0.6)])
def test_beam_search_finds_the_same(name, alpha, aren):
    """All four hypotheses, in order, with their scores."""
    for case, ours in zip(aren.cases, found(aren, kept(4, alpha)), strict=True):
        assert [tokens for tokens, _ in ours] == case[name]
        np.testing.assert_allclose([score for _, score in ours], case[f"{name}_scores"], atol=1e-5)


def test_the_bound_finds_the_same_or_better(aren):
    """CTranslate2 stops at the fourth finished hypothesis, the bound when none alive can displace one: the best is
    always the same, all four are in 46 names of 50, and where a lower one differs the bound's scores higher.
    """
    name, whole_lists = "beam4_lp06", 0
    for case, ours in zip(aren.cases, found(aren, kept(4, 0.6, "bound")), strict=True):
        theirs = list(zip(case[name], case[f"{name}_scores"], strict=True))
        assert ours[0][0] == theirs[0][0]
        for (tokens, score), (their_tokens, their_score) in zip(ours, theirs, strict=True):
            assert score > their_score - 1e-5
            assert tokens == their_tokens or score > their_score + 1e-3
        whole_lists += [tokens for tokens, _ in ours] == case[name]
    assert whole_lists == 46
