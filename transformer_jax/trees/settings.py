"""The settings of trees, one part of an experiment's config."""

from dataclasses import dataclass

from transformer_jax.checked import Checked
from transformer_jax.trees.symbols import Leaves


@dataclass(frozen=True)
class Trees(Checked):
    """How the trees of a corpus "trees:PATH" become sentence pairs, section 6.3."""

    remove_traces: bool  # leaves tagged -NONE-, and the constituents in which nothing else is
    remove_function_labels: bool  # NP-SBJ-1 becomes NP
    collapse_unary_loops: bool  # NP over nothing but an NP becomes that one
    leaves: Leaves  # what stands for a word in the target: its tag, XX ("blanks"), or itself
