"""The loss on a split that is not trained on, without dropout and without smoothing."""

import math
from collections.abc import Callable

from transformer_jax import config, parallel
from transformer_jax.data.batching import evaluation_batches
from transformer_jax.data.encoded import EncodedCorpus
from transformer_jax.model.embedding import require_length
from transformer_jax.model.transformer import Params, Transformer
from transformer_jax.training.loss import total
from transformer_jax.training.step import make_evaluation_step


def dev_loss(
    model: Transformer, split: EncodedCorpus, batching: config.Batching
) -> Callable[[Params], dict[str, float]]:
    """A function of parameters: the loss per token, without smoothing, and its exponential, the perplexity per piece.

    The split is small: each process makes whole batches of it, and computes its devices' share of them.

    Raises:
      SequenceTooLongError: a pair is longer than the model accepts, said now and not after an epoch.
    """
    longest = int(max(split.source_lengths.max(), split.target_lengths.max()))
    require_length(longest, model.config.max_length)
    step = parallel.on_all_devices(make_evaluation_step(model), donate_state=False)

    def evaluate(params: Params) -> dict[str, float]:
        batches = evaluation_batches(split, tokens_per_batch=batching.tokens_per_device, num_shapes=batching.num_shapes)
        sums = [
            step(params, parallel.shard(batch, tokens_per_device=batching.tokens_per_device)) for _, batch in batches
        ]
        _, nll, tokens = total(sums)
        return {"negative_log_likelihood": nll / tokens, "perplexity": _exp(nll / tokens)}

    return evaluate


def _exp(x: float) -> float:
    """math.exp, but for a model that has gone astray infinity and no OverflowError."""
    return math.inf if x > 700 else math.exp(x)
