"""A trace of some updates of a run."""

import gzip
import json

import jax
import jax.numpy as jnp

from experiments.profiling import traced
from transformer_jax.training.observer import Observer


@jax.jit
def an_update_of_a_name_of_its_own(x):
    return jnp.sin(x) @ x


def watched(folder, *, asked, updates):
    """What is said of a run that asks so often, and computes something each time."""
    said = []
    with traced(Observer(lambda _: None, said.append, lambda: False), folder, updates) as observer:
        for _ in range(asked):
            an_update_of_a_name_of_its_own(jnp.ones((7, 7))).block_until_ready()
            assert observer.should_stop() is False
    return said


def traces(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_the_updates_after_the_first_twenty_are_traced(tmp_path):
    (line,) = watched(tmp_path / "profile", asked=25, updates=3)
    assert line.startswith("3 updates traced in ")
    (perfetto,) = (tmp_path / "profile").rglob("perfetto_trace.json.gz")
    events = json.loads(gzip.decompress(perfetto.read_bytes()))["traceEvents"]
    names = [event.get("name", "") for event in events]
    assert any("an_update_of_a_name_of_its_own" in name for name in names)
    assert any(name.endswith(".xplane.pb") for name in traces(tmp_path / "profile"))


def test_nothing_is_written_of_a_run_that_ends_before(tmp_path):
    assert watched(tmp_path / "profile", asked=19, updates=3) == []
    assert traces(tmp_path) == []


def test_a_run_that_ends_meanwhile_leaves_what_was_traced(tmp_path):
    watched(tmp_path / "profile", asked=22, updates=10)
    assert any(name.endswith(".xplane.pb") for name in traces(tmp_path / "profile"))
