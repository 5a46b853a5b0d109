"""The learning rate and Adam, section 5.3, as the configs of the paper and of Multi30k set them."""

import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from experiments.gin_bindings import load_experiment
from transformer_jax import config
from transformer_jax.training.optimizer import learning_rate_schedule, make_optimizer

GIN_CONFIGS = Path(__file__).resolve().parents[2] / "gin_configs"
PARAMS = {"a": jnp.array([[3.0, -2.0, 0.5]]), "b": jnp.array([1.0])}


@pytest.fixture(scope="module")
def base() -> config.Experiment:
    return load_experiment([GIN_CONFIGS / "base.gin"])


def with_optimizer(experiment: config.Experiment, **changes: float) -> config.Experiment:
    return dataclasses.replace(experiment, optimizer=dataclasses.replace(experiment.optimizer, **changes))


def gradients(seed: int) -> dict[str, jax.Array]:
    generator = np.random.default_rng(seed)
    return {name: jnp.asarray(generator.normal(size=leaf.shape), jnp.float32) for name, leaf in PARAMS.items()}


@pytest.mark.parametrize(
    ("step", "rate"),
    [(1, 1.746928e-7), (2, 3.493856e-7), (4000, 6.987712e-4), (16000, 3.493856e-4), (100_000, 1.397542e-4)],
)
def test_the_paper_s_rate(step, rate, base):
    """Steps are counted from 1, updates from 0."""
    assert float(learning_rate_schedule(base)(step - 1)) == pytest.approx(rate, rel=1e-5)


@pytest.mark.parametrize(
    ("gin_file", "changes", "peak_step", "peak"),
    [
        ("base.gin", [], 4000, 6.99e-4),
        ("base.gin", ["Model.d_model = 1024"], 4000, 4.94e-4),
        ("multi30k/tiny.gin", [], 2000, 5.00e-3),
    ],
)
def test_the_rate_rises_to_its_peak_and_falls(gin_file, changes, peak_step, peak):
    schedule = learning_rate_schedule(load_experiment([GIN_CONFIGS / gin_file], changes))
    rates = np.asarray(jax.vmap(schedule)(jnp.arange(2 * peak_step)))
    assert rates.max() == pytest.approx(peak, abs=0.005 * peak)
    assert rates.argmax() == peak_step - 1
    assert (np.diff(rates[:peak_step]) > 0).all()
    assert (np.diff(rates[peak_step:]) < 0).all()


def test_the_first_update_is_made_at_the_rate_of_step_1(base):
    """Adam's first step is the rate times the gradient's sign."""
    optimizer = make_optimizer(base)
    gradient = gradients(1)
    updates, _ = optimizer.update(gradient, optimizer.init(PARAMS), PARAMS)
    rate = 512**-0.5 * 4000**-1.5
    for update, slope in zip(jax.tree.leaves(updates), jax.tree.leaves(gradient), strict=True):
        np.testing.assert_allclose(update, -rate * np.sign(slope), rtol=1e-5)


def test_three_updates_are_those_of_adam_as_published(base):
    """Kingma and Ba 2015, algorithm 1, with beta1 0.9, beta2 0.98, epsilon 1e-9 and equation (3)."""
    optimizer = make_optimizer(with_optimizer(base, warmup_steps=2, learning_rate_scale=0.5))
    params, state = PARAMS, optimizer.init(PARAMS)
    expected = {name: np.asarray(leaf, np.float64) for name, leaf in PARAMS.items()}
    first = {name: np.zeros(leaf.shape) for name, leaf in PARAMS.items()}
    second = {name: np.zeros(leaf.shape) for name, leaf in PARAMS.items()}
    for t in (1, 2, 3):
        gradient = jax.tree.map(lambda leaf: leaf * 1e-8, gradients(t))  # small: the epsilon tells
        updates, state = optimizer.update(gradient, state, params)
        params = optax.apply_updates(params, updates)
        for name, slope in gradient.items():
            slope = np.asarray(slope, np.float64)
            first[name] = 0.9 * first[name] + 0.1 * slope
            second[name] = 0.98 * second[name] + 0.02 * slope**2
            m, v = first[name] / (1 - 0.9**t), second[name] / (1 - 0.98**t)
            expected[name] -= 0.5 * 512**-0.5 * min(t**-0.5, t * 2**-1.5) * m / (np.sqrt(v) + 1e-9)
    for name, leaf in params.items():
        np.testing.assert_allclose(leaf, expected[name], rtol=1e-6)
        assert np.abs(expected[name] - PARAMS[name]).max() > 0.01


def test_parameters_do_not_decay(base):
    optimizer = make_optimizer(base)
    updates, _ = optimizer.update(jax.tree.map(jnp.zeros_like, PARAMS), optimizer.init(PARAMS), PARAMS)
    assert all((update == 0).all() for update in jax.tree.leaves(updates))


@pytest.mark.parametrize(("limit", "factor"), [(None, 1.0), (10.0, 1.0), (2.5, 0.5)])
def test_a_gradient_over_the_limit_is_scaled_down_to_it(limit, factor, base):
    """A gradient of norm 5; the first moment of Adam shows what reached it."""
    optimizer = make_optimizer(with_optimizer(base, max_gradient_norm=limit))
    gradient = {"a": jnp.array([[3.0, 0.0, 0.0]]), "b": jnp.array([4.0])}
    _, state = optimizer.update(gradient, optimizer.init(PARAMS), PARAMS)
    moment = optax.tree.get(state, "mu")
    np.testing.assert_allclose(moment["a"], [[0.1 * 3.0 * factor, 0.0, 0.0]], rtol=1e-6)
    np.testing.assert_allclose(moment["b"], [0.1 * 4.0 * factor], rtol=1e-6)
