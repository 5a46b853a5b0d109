"""Which settings a sweep's scores depend on: to vary another would be to measure noise, or with another yardstick."""

from collections.abc import Iterable

from experiments.gin_bindings import Binding, settings_of
from experiments.study.settings import Sweep
from transformer_jax.checked import ConfigError
from transformer_jax.config import Cleaning

_OTHER_TEXT = "trials would be scored on different text"
_OTHER_PIECES = "losses per piece of different vocabularies cannot be compared"
_NO_SCORE = "no score depends on it"
_NEVER = {
    "Training.seed": "it is what Sweep.seeds repeats",
    "Training.log_every_steps": _NO_SCORE,
    "Data.cache_directory": _NO_SCORE,
    "Data.test": "trials are scored on the dev set",
    "Data.dev": _OTHER_TEXT,
    "Data.directory": _OTHER_TEXT,
    "Data.source_language": _OTHER_TEXT,
    "Data.target_language": _OTHER_TEXT,
    "Scoring.bleu_tokenizer": "trials would be scored by different metrics",
    "Scoring.test_rows": "trials are scored on the dev set",
}
_OF_THE_VOCABULARY = (
    "Data.train",
    "Data.vocabulary",
    "Data.vocab_size",
    "Data.vocab_sample",
    *settings_of(Cleaning),  # what it is learned from
)
_OF_THE_WEIGHTS = "Decoding.average_checkpoints"


def require_consumed(setting: str, where: str, sweep: Sweep) -> None:
    """Raises ConfigError, which says why, if no comparison of trials can come of varying the setting."""
    reason = _NEVER.get(setting)
    decoding = setting.startswith("Decoding.")
    if sweep.trained is not None and not decoding:
        reason = f"nothing is trained: the weights are those of Sweep.trained = {sweep.trained!r}"
    if sweep.metric == "perplexity_per_piece" and decoding and setting != _OF_THE_WEIGHTS:
        reason = "Sweep.metric is a perplexity, for which nothing is decoded"
    if setting in _OF_THE_VOCABULARY and (sweep.metric == "perplexity_per_piece" or sweep.pruner != "none"):
        reason = f"{_OTHER_PIECES} (Sweep.metric = {sweep.metric!r}, Sweep.pruner = {sweep.pruner!r})"
    if reason:
        raise ConfigError(f"{where}: {setting} cannot be swept: {reason}")


def require_decoding_only(bindings: Iterable[Binding]) -> None:
    """Raises ConfigError if a binding is of anything that a trained run has decided."""
    for binding in bindings:
        if not binding.name.startswith("Decoding."):
            raise ConfigError(f"{binding.where}: {binding.name} is what Sweep.trained was trained with: leave it out")
