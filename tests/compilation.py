"""For tests whose programs run once or twice: most of their time would go into XLA's optimisations."""

from collections.abc import Iterator

import jax
import pytest
from jax.experimental.compilation_cache import compilation_cache


@pytest.fixture
def quick_to_compile() -> Iterator[None]:
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture(scope="module", autouse=True)
def quick_to_compile_for_all() -> Iterator[None]:
    """The same for every test of a file that imports it, and for the file's own fixtures."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture(scope="module")
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For a file whose runs differ in when they stop, not in their steps: they share programs, on disk."""
    settings = {
        "jax_compilation_cache_dir": (str(tmp_path_factory.mktemp("compiled")), None),
        "jax_persistent_cache_min_compile_time_secs": (0.0, 1.0),
        "jax_disable_most_optimizations": (True, False),
    }
    for name, (value, _) in settings.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    yield
    for name, (_, before) in settings.items():
        jax.config.update(name, before)
    compilation_cache.reset_cache()
