"""For tests whose programs run once or twice: most of their time would go into XLA's optimisations."""

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture
def quick_to_compile() -> Iterator[None]:
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
