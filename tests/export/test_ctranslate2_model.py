"""CTranslate2 says of an exported model what ours says of it, whatever the settings."""

import ctranslate2
import jax
import numpy as np
import pytest
from compilation import quick_to_compile
from export.exported_models import VOCABULARY, ending_model
from random_params import random_params
from tiny_experiment import VOCAB_SIZE, tiny_experiment

from transformer_jax.decoding.model_search import make_search
from transformer_jax.export.ctranslate2_model import distinct_tokens, save_ctranslate2
from transformer_jax.export.export_error import ExportError
from transformer_jax.model.transformer import Transformer
from transformer_jax.special_ids import EOS_ID

__all__ = ["quick_to_compile"]

TOKENS = VOCABULARY.tokens(range(VOCAB_SIZE))
SETTINGS = [
    {},
    {"num_layers": 2, "pre_norm": True, "shared_embedding": False, "attention_biases": True, "positions": "learned"},
    {"d_k": 7, "d_v": 3, "positions": "sines_then_cosines", "layer_norm_epsilon": 0.3},
]


def random_sentences(seed, count, longest):
    rng = np.random.default_rng(seed)
    return [rng.integers(4, VOCAB_SIZE, rng.integers(1, longest + 1)).tolist() for _ in range(count)]


def translator(folder, experiment, params):
    save_ctranslate2(folder, experiment.model, params, VOCABULARY)
    return ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)


def padded(sentences):
    ids = np.zeros((len(sentences), max(map(len, sentences)) + 1), np.int32)
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence) + 1] = [*sentence, EOS_ID]
    return ids


@pytest.mark.usefixtures("quick_to_compile")
@pytest.mark.parametrize("settings", SETTINGS)
def test_every_token_is_as_probable_as_ours(tmp_path, settings):
    experiment = tiny_experiment(**settings)
    params = random_params(experiment.model, VOCAB_SIZE)
    sources, targets = random_sentences(1, 7, 11), random_sentences(2, 7, 13)
    tokens = [[[TOKENS[id] for id in sentence] for sentence in side] for side in (sources, targets)]
    theirs = translator(tmp_path, experiment, params).score_batch(*tokens)
    model = Transformer(experiment.model, VOCAB_SIZE)
    apply = jax.jit(lambda source, target: model.apply({"params": params}, source, target, deterministic=True))
    ours = jax.nn.log_softmax(apply(padded(sources), padded(targets)))
    for row, target, scored in zip(ours, padded(targets), theirs, strict=True):
        length = len(scored.log_probs)
        assert target[length - 1] == EOS_ID
        np.testing.assert_allclose(scored.log_probs, row[np.arange(length), target[:length]], atol=1e-5)


@pytest.mark.usefixtures("quick_to_compile")
def test_translations_and_scores_are_ours(tmp_path):
    """Of the sources whose search ends before the length limit: at the limit the rules differ."""
    experiment, params = ending_model(beam_size=4, length_penalty=0.6, length_penalty_offset=0.0, stop="beam_finished")
    sources, limit = random_sentences(3, 31, 9), 40
    search = jax.jit(make_search(Transformer(experiment.model, VOCAB_SIZE), experiment.decoding, max_steps=limit))
    ours = search(params, padded(sources), np.full(len(sources), limit, np.int32))
    theirs = translator(tmp_path, experiment, params).translate_batch(
        [[TOKENS[id] for id in source] for source in sources],
        beam_size=4,
        num_hypotheses=4,
        length_penalty=0.6,
        min_decoding_length=0,
        max_decoding_length=limit,
        return_scores=True,
    )
    in_time = np.flatnonzero((ours.lengths < limit).all(1))
    assert len(in_time) > 20
    assert len(set(ours.lengths[in_time, 0].tolist())) > 3
    for i in in_time:
        ids = [own[: length - 1] for own, length in zip(ours.ids[i], ours.lengths[i], strict=True)]
        assert [[TOKENS[id] for id in own] for own in ids] == theirs[i].hypotheses
        np.testing.assert_allclose(theirs[i].scores, ours.scores[i], atol=1e-4)


def test_special_tokens_do_not_read_like_text():
    special, pieces = ["<pad>", "<s>", "</s>", "<unk>"], ["a", "<s>", "<<unk>>"]
    assert distinct_tokens([*special, "a"]) == [*special, "a"]
    assert distinct_tokens([*special, *pieces]) == ["<<<pad>>>", "<<<s>>>", "<<</s>>>", "<<<unk>>>", *pieces]


def test_a_piece_that_is_there_twice_is_named():
    with pytest.raises(ExportError, match="the piece 'b' twice"):
        distinct_tokens(["<pad>", "<s>", "</s>", "<unk>", "a", "b", "b"])


@pytest.mark.parametrize("setting", ["encoder_neighbourhood", "decoder_neighbourhood"])
def test_what_it_cannot_compute_is_refused(tmp_path, setting):
    model = tiny_experiment(**{setting: 3}).model
    with pytest.raises(ExportError, match=f"Model.{setting} = 3: CTranslate2 knows no restricted"):
        save_ctranslate2(tmp_path, model, random_params(model, VOCAB_SIZE), VOCABULARY)
    assert not list(tmp_path.iterdir())
