"""What it takes to read a corpus, in tests."""

from transformer_jax.config import Trees
from transformer_jax.data.corpus import Reading

TREES = Trees(remove_traces=True, remove_function_labels=True, collapse_unary_loops=False, leaves="tags")


def reading(directory="", source_language="en", target_language="de", trees=TREES) -> Reading:
    return Reading(str(directory), source_language, target_language, trees)
