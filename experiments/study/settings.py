"""What a sweep is: how points of its space are chosen and judged. `gin_configs/sweeps/sweep.gin` states every value."""

from dataclasses import dataclass
from typing import Literal

from transformer_jax.checked import Checked

Metric = Literal["bleu", "chrf", "exact_match_percent", "f1", "perplexity_per_piece"]
Sampler = Literal["tpe", "random", "grid", "quasi_random"]
Pruner = Literal["median", "none"]


@dataclass(frozen=True)
class Sweep(Checked):
    """The settings of a sweep. Its space stands beside them, in the scope `sweep/`."""

    metric: Metric  # of the dev set
    trials: int  # points of the space that are tried; a grid has no more than it has points
    seeds: int  # runs of each point, of seeds 1 to this number; their mean is the point's score
    sampler: Sampler
    sampler_seed: int
    pruner: Pruner  # "median": a run whose dev loss is above the median of the others at its step is stopped
    unpruned_trials: int  # so many must have been finished before one is pruned
    unpruned_steps: int  # no run is pruned before this step
    trained: str | None  # the folder of a run whose weights are decoded with; None: each trial trains its own

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(1, "trials", "seeds")
        self.require_at_least(0, "sampler_seed", "unpruned_trials", "unpruned_steps")
        nothing_to_prune = self.trained is None or self.pruner == "none"
        self.require(nothing_to_prune, "pruner", 'must be "none" where Sweep.trained is given: nothing is trained')
        nothing_to_repeat = self.trained is None or self.seeds == 1
        self.require(nothing_to_repeat, "seeds", "must be 1 where Sweep.trained is given: nothing depends on a seed")
