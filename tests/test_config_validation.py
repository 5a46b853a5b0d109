"""A setting that cannot be is one line that names field, value and rule."""

import dataclasses
import math

import pytest

from transformer_jax import config
from transformer_jax.checked import ConfigError
from transformer_jax.errors import UserError

VALID = {
    config.Model: {
        "num_layers": 2, "d_model": 14, "d_ff": 23, "num_heads": 3, "d_k": 5, "d_v": 7, "dropout_rate": 0.1,
        "attention_dropout_rate": 0.0, "feed_forward_dropout_rate": 0.0, "positions": "sinusoidal", "max_length": 31,
        "encoder_neighbourhood": 5, "decoder_neighbourhood": None,
        "pre_norm": False, "attention_biases": False, "shared_embedding": True, "layer_norm_epsilon": 1e-6,
        "compute_dtype": "float32",
        "rematerialise": "elementwise",
    },
    config.Data: {
        "source_language": "en", "target_language": "de", "train": "train.tsv", "dev": ("dev.en", "dev.de"),
        "test": "builtin:test", "directory": "", "vocabulary": "bpe", "vocab_size": 37, "vocab_sample": None,
        "merge_across_scripts": True, "max_train_length": 29, "cache_directory": "~",
    },
    config.Cleaning: {
        "empty": True, "identical": False, "max_words": 80, "max_length_ratio": 1.5, "duplicate": True,
    },
    config.Trees: {
        "remove_traces": True, "remove_function_labels": False, "collapse_unary_loops": True, "leaves": "blanks",
    },
    config.Batching: {"tokens_per_batch": 640, "tokens_per_device": 80, "num_shapes": 3},
    config.Optimizer: {
        "beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9, "warmup_steps": 400, "learning_rate_scale": 1.0,
        "max_gradient_norm": None,
    },
    config.Training: {
        "label_smoothing": 0.1, "label_smoothing_over": "others", "num_steps": 11, "seed": 0,
        "random_bits": "rbg", "deterministic": True, "log_every_steps": 2,
        "evaluate_every_steps": 5, "patience": None, "checkpoint_every_steps": 5, "checkpoint_every_minutes": None,
        "keep_checkpoints": 3, "skip_non_finite": 2,
    },
    config.Decoding: {
        "average_checkpoints": 3, "beam_size": 4, "length_penalty": 0.6, "length_penalty_offset": 5.0,
        "stop": "bound", "max_length_ratio": 1.0, "max_extra_length": 50, "min_length_ratio": 0.0,
        "sampling_temperature": 0.7, "sampling_top_k": 10, "sampling_nucleus": 0.9, "sampling_seed": 1,
        "tokens_per_batch": 1000, "constrained_to_trees": False, "constrained_to_inventory": False,
    },
    config.Scoring: {"bleu_tokenizer": "13a", "test_rows": None, "bracketing_parameters": None},
}  # fmt: skip
FIELDS = [(cls, field.name) for cls in VALID for field in dataclasses.fields(cls)]
NUMBERS = [(cls, name) for cls, name in FIELDS if type(VALID[cls][name]) in (int, float)]


pytestmark = pytest.mark.usefixtures("unchecked_types")


def make(cls, **changes):
    return cls(**{**VALID[cls], **changes})


def experiment(**changes):
    """Changes by part: `experiment(Training={"num_steps": 3})`."""
    names = {field.name: field.type for field in dataclasses.fields(config.Experiment)}
    return config.Experiment(**{name: make(cls, **changes.get(cls.__name__, {})) for name, cls in names.items()})


def message_of(cls, **changes) -> str:
    with pytest.raises(ConfigError) as raised:
        make(cls, **changes)
    assert isinstance(raised.value, UserError)
    message = str(raised.value)
    assert len(message.splitlines()) == 1
    ((field, value),) = changes.items()
    start = f"{cls.__name__}.{field} = {value!r}: "
    assert message.startswith(start)
    return message.removeprefix(start)


@pytest.mark.parametrize("cls", VALID, ids=lambda cls: cls.__name__)
def test_no_field_has_a_default(cls):
    assert all(field.default is field.default_factory is dataclasses.MISSING for field in dataclasses.fields(cls))
    assert VALID[cls].keys() == {field.name for field in dataclasses.fields(cls)}


@pytest.mark.parametrize("cls", VALID, ids=lambda cls: cls.__name__)
def test_configs_are_frozen_values(cls):
    assert make(cls) == make(cls)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(make(cls), next(iter(VALID[cls])), 1)


@pytest.mark.parametrize(("cls", "field"), FIELDS, ids=lambda value: getattr(value, "__name__", value))
def test_every_field_refuses_another_type(cls, field):
    assert message_of(cls, **{field: b"junk"}).startswith("must be ")


@pytest.mark.parametrize(("cls", "field"), NUMBERS, ids=lambda value: getattr(value, "__name__", value))
@pytest.mark.parametrize("value", [True, "1", math.nan, math.inf, -math.inf])
def test_what_is_no_number(cls, field, value):
    wanted = "a whole number" if isinstance(VALID[cls][field], int) else "a finite number"
    assert message_of(cls, **{field: value}).removesuffix(" or None") == f"must be {wanted}"


def test_an_int_passes_for_a_float_and_not_the_other_way_round():
    assert make(config.Optimizer, learning_rate_scale=2).learning_rate_scale == 2
    assert message_of(config.Training, num_steps=11.0) == "must be a whole number"
    assert message_of(config.Training, patience=2.5) == "must be a whole number or None"
    assert message_of(config.Optimizer, max_gradient_norm="none") == "must be a finite number or None"


@pytest.mark.parametrize("value", [0, 1, "False"])
def test_a_switch_is_a_bool(value):
    assert message_of(config.Model, pre_norm=value) == "must be True or False"


@pytest.mark.parametrize(
    ("cls", "field", "too_small", "least"),
    [
        *((config.Model, field, 0, 1) for field in ("num_layers", "d_ff", "num_heads", "d_k", "d_v", "max_length")),
        *((config.Batching, field, 0, 1) for field in ("tokens_per_batch", "tokens_per_device", "num_shapes")),
        *((config.Decoding, field, 0, 1) for field in ("average_checkpoints", "beam_size", "tokens_per_batch")),
        *((config.Decoding, field, -0.5, 0) for field in ("length_penalty", "length_penalty_offset")),
        (config.Decoding, "max_extra_length", -1, 0),
        (config.Decoding, "sampling_top_k", 0, 1),
        (config.Decoding, "sampling_seed", -1, 0),
        *((config.Decoding, field, -0.5, 0) for field in ("max_length_ratio", "min_length_ratio")),
        (config.Optimizer, "warmup_steps", 0, 1),
        (config.Training, "seed", -1, 0),
        *((config.Training, field, 0, 1) for field in ("num_steps", "log_every_steps", "evaluate_every_steps")),
        *((config.Training, field, 0, 1) for field in ("patience", "checkpoint_every_steps", "keep_checkpoints")),
        (config.Data, "vocab_size", 7, 8),
        (config.Data, "max_train_length", 1, 2),
        (config.Data, "vocab_sample", 0, 1),
        (config.Cleaning, "max_words", 0, 1),
        (config.Cleaning, "max_length_ratio", 0.99, 1),
    ],
)
def test_least_values(cls, field, too_small, least):
    assert message_of(cls, **{field: too_small}) == f"must be at least {least}"
    assert getattr(make(cls, **{field: least}), field) == least


@pytest.mark.parametrize(
    ("cls", "field"),
    [
        (config.Model, "dropout_rate"),
        (config.Model, "attention_dropout_rate"),
        (config.Model, "feed_forward_dropout_rate"),
        (config.Optimizer, "beta1"),
        (config.Optimizer, "beta2"),
        (config.Training, "label_smoothing"),
    ],
)
def test_rates(cls, field):
    for value in (-0.1, 1.0):
        assert message_of(cls, **{field: value}) == "must be in [0, 1)"
    assert getattr(make(cls, **{field: 0.0}), field) == 0.0


@pytest.mark.parametrize(
    ("cls", "field"),
    [
        (config.Model, "layer_norm_epsilon"),
        (config.Optimizer, "epsilon"),
        (config.Optimizer, "learning_rate_scale"),
        (config.Optimizer, "max_gradient_norm"),
        (config.Training, "checkpoint_every_minutes"),
        (config.Decoding, "sampling_temperature"),
        (config.Decoding, "sampling_nucleus"),
    ],
)
def test_what_must_be_positive(cls, field):
    assert message_of(cls, **{field: 0.0}) == "must be positive"


def test_choices():
    kinds = "'sinusoidal', 'sines_then_cosines', 'learned'"
    assert message_of(config.Model, positions="rotary") == f"must be one of {kinds}"
    assert message_of(config.Model, compute_dtype="float16") == "must be one of 'float32', 'bfloat16'"
    assert message_of(config.Decoding, stop="never") == "must be one of 'bound', 'beam_finished', 'first_finished'"
    assert message_of(config.Decoding, sampling_nucleus=1.1) == "must be at most 1"
    assert message_of(config.Trees, leaves="stems") == "must be one of 'tags', 'blanks', 'words'"
    kinds = "'others', 'all', 'others_but_pad', 'all_but_pad'"
    assert message_of(config.Training, label_smoothing_over="none") == f"must be one of {kinds}"


def test_sinusoids_come_in_pairs_and_learned_positions_do_not():
    assert message_of(config.Model, d_model=15) == "must be even: sinusoids come in pairs"
    assert make(config.Model, d_model=15, positions="learned").d_model == 15


@pytest.mark.parametrize("source", [("a", "b", "c"), (), (("a", "b"), ("a", "b", "c")), (("a", "b"), ())])
def test_a_corpus_has_parts_of_one_string_or_two_paths(source):
    rule = "must be one string, two paths (source, target), or a tuple of tuples of one or two strings"
    assert message_of(config.Data, dev=source) == rule


def test_a_corpus_is_made_of_strings_and_tuples():
    kinds = "a string or a tuple of strings or a tuple of tuples of strings"
    for source in (["a", "b"], ("a", 3), ("a", ("b", "c"))):
        assert message_of(config.Data, train=source) == f"must be {kinds}"


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("a.tsv", (("a.tsv",),)),
        (("a.en", "a.de"), (("a.en", "a.de"),)),
        ((("a.en", "a.de"), ("b.tsv",)), (("a.en", "a.de"), ("b.tsv",))),
        ((("a.tsv",), ("b.tsv",)), (("a.tsv",), ("b.tsv",))),
    ],
)
def test_the_parts_of_a_corpus(source, parts):
    assert config.corpus_parts(make(config.Data, train=source).train) == parts


@pytest.mark.parametrize("vocabulary", ["", "BPE", "word", "bpe:codes", "subword-nmt", "subword-nmt:", ":codes"])
def test_kinds_of_vocabulary(vocabulary):
    rule = "must be bpe or unigram, or a path after sentencepiece: or subword-nmt: or tensor2tensor:"
    assert message_of(config.Data, vocabulary=vocabulary) == rule
    for known in ("bpe", "unigram", "sentencepiece:m.model", "subword-nmt:codes", "tensor2tensor:a:b"):
        assert make(config.Data, vocabulary=known).vocabulary == known


def test_languages_differ():
    assert message_of(config.Data, target_language="en") == "must differ from the source's"


def test_what_an_average_needs_is_kept():
    assert experiment(Training={"keep_checkpoints": 3}).training.keep_checkpoints == 3
    with pytest.raises(ConfigError) as raised:
        experiment(Training={"keep_checkpoints": 2})
    assert str(raised.value) == "Training.keep_checkpoints = 2: must be at least Decoding.average_checkpoints = 3"


def test_what_is_trained_on_fits_the_model():
    assert experiment(Data={"max_train_length": 31}).data.max_train_length == 31
    with pytest.raises(ConfigError) as raised:
        experiment(Data={"max_train_length": 32})
    assert str(raised.value) == "Data.max_train_length = 32: must be at most Model.max_length = 31"


def test_a_batch_holds_the_longest_pair():
    assert experiment(Batching={"tokens_per_batch": 29}).batching.tokens_per_batch == 29
    with pytest.raises(ConfigError) as raised:
        experiment(Batching={"tokens_per_batch": 28})
    assert str(raised.value) == "Batching.tokens_per_batch = 28: must be at least Data.max_train_length = 29"


def test_trees_are_searched_for_where_their_symbols_are_known():
    """Words may be any; and a least length might leave no tree."""
    found = experiment(Decoding={"constrained_to_trees": True})
    assert (found.decoding.constrained_to_trees, found.trees.leaves) == (True, "blanks")
    with pytest.raises(ConfigError) as raised:
        experiment(Decoding={"constrained_to_trees": True}, Trees={"leaves": "words"})
    rule = "must be False with Trees.leaves = 'words'"
    assert str(raised.value) == f"Decoding.constrained_to_trees = True: {rule}"
    assert experiment(Trees={"leaves": "words"}).trees.leaves == "words"
    with pytest.raises(
        ConfigError, match=r"constrained_to_inventory = True: must be False with Trees\.leaves = 'blanks'"
    ):
        experiment(Decoding={"constrained_to_trees": True, "constrained_to_inventory": True})
    with pytest.raises(
        ConfigError, match="constrained_to_inventory = True: must be False without constrained_to_trees"
    ):
        make(config.Decoding, constrained_to_inventory=True)
    with pytest.raises(ConfigError, match=r"min_length_ratio = 0\.5: must be 0 with constrained_to_trees"):
        make(config.Decoding, constrained_to_trees=True, min_length_ratio=0.5)
    assert make(config.Decoding, min_length_ratio=0.5).min_length_ratio == 0.5
