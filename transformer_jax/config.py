"""What an experiment is: frozen, validated values, readable without knowing JAX.

No field has a default. `gin_configs/base.gin` states every value of the paper's base model once, so that nothing about
an experiment hides in Python. Symbols in the comments are the paper's (Table 3).
"""

import typing
from dataclasses import dataclass

from transformer_jax.checked import Checked, ConfigError
from transformer_jax.trees.settings import Trees

Positions = typing.Literal["sinusoidal", "sines_then_cosines", "learned"]
ComputeDtype = typing.Literal["float32", "bfloat16"]
Rematerialise = typing.Literal["nothing", "elementwise", "layers"]
SmoothingOver = typing.Literal["others", "all", "others_but_pad", "all_but_pad"]
RandomBits = typing.Literal["threefry2x32", "rbg", "unsafe_rbg"]
StopRule = typing.Literal["bound", "beam_finished", "first_finished"]
LEARNED_VOCABULARIES = ("bpe", "unigram")
READ_VOCABULARIES = ("sentencepiece", "subword-nmt", "tensor2tensor")
# One part: two paths (source, target), a table's path, "tfds:builder/config:split", "builtin:split" or "trees:PATH".
# Or several, one after another, each in brackets of its own: (("a.en", "a.de"), ("b.tsv",)).
CorpusSource = str | tuple[str, ...] | tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Model(Checked):
    """The architecture, section 3. The first six fields stand in Table 3's column order."""

    num_layers: int  # N, of the encoder and of the decoder
    d_model: int
    d_ff: int
    num_heads: int  # h
    d_k: int
    d_v: int
    dropout_rate: float  # P_drop: on each sub-layer's output and on the sums of embeddings and positions
    attention_dropout_rate: float  # on the attention weights; 0 in the paper
    feed_forward_dropout_rate: float  # after the ReLU; 0 in the paper
    encoder_neighbourhood: int | None  # r, of restricted self-attention, section 4, centred; None: all positions
    decoder_neighbourhood: int | None  # the same, its last position the query's own
    positions: Positions
    max_length: int  # the longest sequence, in tokens; a learned position table has this many rows
    pre_norm: bool  # normalise before each sub-layer, and once after each stack, instead of after each residual sum
    attention_biases: bool  # biases on the four attention projections
    shared_embedding: bool  # one table for source, target and softmax
    layer_norm_epsilon: float
    compute_dtype: ComputeDtype  # of activations and matrix products; parameters and the loss stay in float32
    rematerialise: Rematerialise  # of a layer: what the backward pass computes again, to keep less until then

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(1, "num_layers", "d_model", "d_ff", "num_heads", "d_k", "d_v", "max_length")
        self.require_at_least(1, "encoder_neighbourhood", "decoder_neighbourhood")
        self.require_rate("dropout_rate", "attention_dropout_rate", "feed_forward_dropout_rate")
        self.require_positive("layer_norm_epsilon")
        even = self.positions == "learned" or self.d_model % 2 == 0
        self.require(even, "d_model", "must be even: sinusoids come in pairs")


_CORPUS_SOURCE_RULE = "must be one string, two paths (source, target), or a tuple of tuples of one or two strings"
_VOCABULARY_RULE = (
    f"must be {' or '.join(LEARNED_VOCABULARIES)}, or a path after {' or '.join(f'{k}:' for k in READ_VOCABULARIES)}"
)


def corpus_parts(source: CorpusSource) -> tuple[tuple[str, ...], ...]:
    """The parts of a source, each as one or two strings."""
    if isinstance(source, str):
        return ((source,),)
    return tuple((source,) if all(isinstance(part, str) for part in source) else source)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Data(Checked):
    """Which sentence pairs, and how they become ids, section 5.1."""

    source_language: str
    target_language: str
    train: CorpusSource
    dev: CorpusSource
    test: CorpusSource
    directory: str  # relative paths above start here; "" is the current directory
    vocabulary: str  # "bpe", "unigram": learned; "sentencepiece:", "subword-nmt:", "tensor2tensor:" and a path: read
    vocab_size: int  # pieces of the one vocabulary of both sides, special ids included
    vocab_sample: int | None  # the training pairs, evenly spaced, that it is learned from at most; None: all
    merge_across_scripts: bool  # a learned piece may have letters beside other characters, as "/NP" does
    max_train_length: int  # training pairs with a longer side, in tokens with the end token, are dropped
    cache_directory: str  # prepared training text and vocabularies, shared by runs; "~" is the user's home

    def __post_init__(self) -> None:
        super().__post_init__()
        for split in ("train", "dev", "test"):
            parts = corpus_parts(getattr(self, split))
            self.require(all(len(part) in (1, 2) for part in parts), split, _CORPUS_SOURCE_RULE)
        self.require(self.source_language != self.target_language, "target_language", "must differ from the source's")
        kind, colon, path = self.vocabulary.partition(":")
        known = path and kind in READ_VOCABULARIES if colon else kind in LEARNED_VOCABULARIES
        self.require(bool(known), "vocabulary", _VOCABULARY_RULE)
        self.require_at_least(8, "vocab_size")
        self.require_at_least(1, "vocab_sample")
        self.require_at_least(2, "max_train_length")


@dataclass(frozen=True)
class Cleaning(Checked):
    """Which training pairs are left out; a pair counts for the first rule that it breaks, in this order."""

    empty: bool  # a side without words
    identical: bool  # both sides are the same
    max_words: int | None  # a side of more words, as white space divides them; None: any number
    max_length_ratio: float | None  # one side has more than so many times the other's words; None: any ratio
    duplicate: bool  # the same pair came before

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(1, "max_words", "max_length_ratio")


@dataclass(frozen=True)
class Batching(Checked):
    """How pairs are batched, section 5.1."""

    tokens_per_batch: int  # positions of the longer side in one update, padding included, over all devices
    tokens_per_device: int  # what one device computes at a time; the rest of a batch is accumulated
    num_shapes: int  # at most this many distinct batch shapes, hence compilations

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(1, "tokens_per_batch", "tokens_per_device", "num_shapes")


@dataclass(frozen=True)
class Optimizer(Checked):
    """Adam and the learning rate, section 5.3."""

    beta1: float
    beta2: float
    epsilon: float
    warmup_steps: int
    learning_rate_scale: float  # multiplies the paper's formula; 1 is the paper
    max_gradient_norm: float | None  # the gradient is scaled down to this norm; None (the paper) never does

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_rate("beta1", "beta2")
        self.require_at_least(1, "warmup_steps")
        self.require_positive("epsilon", "learning_rate_scale", "max_gradient_norm")


@dataclass(frozen=True)
class Training(Checked):
    """How long, on what loss, and what is kept, sections 5.2 to 5.4."""

    label_smoothing: float  # eps_ls
    label_smoothing_over: SmoothingOver  # the ids that share eps_ls: with the right one or not, with the pad id or not
    num_steps: int  # train steps
    seed: int
    random_bits: RandomBits  # dropout's generator, by JAX's name: only threefry's bits are the same on all hardware
    deterministic: bool  # a repetition on the same devices is bit-equal: on GPUs at the price of slower operations
    log_every_steps: int
    evaluate_every_steps: int
    patience: int | None  # stop after this many evaluations without a lower dev loss; None: never
    checkpoint_every_steps: int | None
    checkpoint_every_minutes: float | None
    keep_checkpoints: int  # the newest ones that stay on disk
    skip_non_finite: int  # times that a run may go back from a loss that is not finite, and on without these batches

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_rate("label_smoothing")
        self.require_at_least(0, "seed", "skip_non_finite")
        self.require_at_least(1, "num_steps", "log_every_steps", "evaluate_every_steps", "patience")
        self.require_at_least(1, "checkpoint_every_steps", "keep_checkpoints")
        self.require_positive("checkpoint_every_minutes")


@dataclass(frozen=True)
class Decoding(Checked):
    """Beam search, section 6.1."""

    average_checkpoints: int  # weights are the mean of the newest so many checkpoints; 1: the newest alone
    beam_size: int
    length_penalty: float  # alpha
    length_penalty_offset: float  # the score is log P / ((offset + length) / (offset + 1))^alpha; GNMT and the paper: 5
    stop: StopRule  # see `decoding.beam_search.Rules`; "bound" is the paper's code's
    max_length_ratio: float  # a hypothesis has at most source length times this, plus `max_extra_length` tokens
    max_extra_length: int
    min_length_ratio: float  # a hypothesis has at least source length times this many tokens before its end
    constrained_to_trees: bool  # every hypothesis is a linearised tree over exactly the source's words, section 6.3
    constrained_to_inventory: bool  # and like the training trees in its words' tags, see `TreeInventory`
    sampling_temperature: float | None  # `beam_size` independent samples of p^(1 / temperature); None: beam search
    sampling_top_k: int | None  # of the so many most probable tokens alone; None: of all
    sampling_nucleus: float | None  # of the most probable tokens that together have this probability; None: of all
    sampling_seed: int
    tokens_per_batch: int  # source positions times beam_size decoded at once

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(1, "average_checkpoints", "beam_size", "tokens_per_batch", "sampling_top_k")
        self.require_at_least(0, "length_penalty", "length_penalty_offset", "max_length_ratio", "max_extra_length")
        self.require_at_least(0, "min_length_ratio", "sampling_seed")
        self.require_positive("sampling_temperature", "sampling_nucleus")
        self.require((self.sampling_nucleus or 1) <= 1, "sampling_nucleus", "must be at most 1")
        least = self.constrained_to_trees and self.min_length_ratio
        self.require(not least, "min_length_ratio", "must be 0 with constrained_to_trees")
        alone = self.constrained_to_inventory and not self.constrained_to_trees
        self.require(not alone, "constrained_to_inventory", "must be False without constrained_to_trees")


@dataclass(frozen=True)
class Scoring(Checked):
    """How translations are scored, section 6.1, and trees, section 6.3."""

    bleu_tokenizer: str  # sacreBLEU's name; "none" for references that are tokenised already
    test_rows: str | None  # a file with row numbers, from 0, of test sentences that are scored apart too; None: no file
    bracketing_parameters: str | None  # a parameter file of EVALB's; None: those of its new.prm, but for its MAX_ERROR


@dataclass(frozen=True)
class Experiment:
    """Everything a run depends on."""

    model: Model
    data: Data
    cleaning: Cleaning
    trees: Trees
    batching: Batching
    optimizer: Optimizer
    training: Training
    decoding: Decoding
    scoring: Scoring

    def __post_init__(self) -> None:
        longest, trees = self.data.max_train_length, self.decoding.constrained_to_trees
        enough = self.training.keep_checkpoints >= self.decoding.average_checkpoints
        self._require(enough, "Training.keep_checkpoints", "at least", "Decoding.average_checkpoints")
        self._require(longest <= self.model.max_length, "Data.max_train_length", "at most", "Model.max_length")
        fits = longest <= self.batching.tokens_per_batch
        self._require(fits, "Batching.tokens_per_batch", "at least", "Data.max_train_length")
        closed = not trees or self.trees.leaves != "words"  # any word may be one
        self._require(closed, "Decoding.constrained_to_trees", "False with", "Trees.leaves")
        tagged = not self.decoding.constrained_to_inventory or self.trees.leaves == "tags"
        self._require(tagged, "Decoding.constrained_to_inventory", "False with", "Trees.leaves")

    def _require(self, holds: bool, setting: str, rule: str, other: str) -> None:
        """Raises ConfigError naming both settings, "Part.field", their values and the rule between them."""
        if not holds:
            parts = (name.lower().split(".") for name in (setting, other))
            value, others = (getattr(getattr(self, part), field) for part, field in parts)
            raise ConfigError(f"{setting} = {value!r}: must be {rule} {other} = {others!r}")
