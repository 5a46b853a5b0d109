"""Adam and the learning rate, section 5.3."""

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from transformer_jax import config


def inverse_square_root_schedule(*, d_model: int, warmup_steps: int, scale: float) -> optax.Schedule:
    """scale * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5), equation (3), with steps counted from 1.

    Optax counts updates from 0, so the first update (count 0) has the rate of step 1, which is not zero.
    """

    def schedule(count: Int[Array, ""] | int) -> Float[Array, ""]:
        step = jnp.asarray(count, jnp.float32) + 1.0
        return scale * d_model**-0.5 * jnp.minimum(step**-0.5, step * warmup_steps**-1.5)

    return schedule


def learning_rate_schedule(experiment: config.Experiment) -> optax.Schedule:
    """The experiment's rate for the update of a 0-based count."""
    return inverse_square_root_schedule(
        d_model=experiment.model.d_model,
        warmup_steps=experiment.optimizer.warmup_steps,
        scale=experiment.optimizer.learning_rate_scale,
    )


def make_optimizer(experiment: config.Experiment) -> optax.GradientTransformation:
    """Adam at the scheduled rate, no weight decay; the gradient's norm is clipped only where the config asks for it."""
    settings = experiment.optimizer
    adam = optax.adam(learning_rate_schedule(experiment), b1=settings.beta1, b2=settings.beta2, eps=settings.epsilon)
    if settings.max_gradient_norm is None:
        return adam
    return optax.chain(optax.clip_by_global_norm(settings.max_gradient_norm), adam)
