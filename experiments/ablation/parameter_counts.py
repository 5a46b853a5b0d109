"""Table 3's column of parameters, ours beside the paper's: shapes are traced, nothing is trained.

The paper does not say how it counts, so there are three conventions; no number below them is typed in.
"""

import dataclasses
import functools
import textwrap
from dataclasses import dataclass
from typing import Any

import jax

from experiments import paper
from experiments.ablation.rows import CONFIGS
from experiments.gin_bindings import load_experiment
from experiments.markdown import table
from transformer_jax import config
from transformer_jax.model.transformer import Transformer
from transformer_jax.training.step import initial_params


@dataclass(frozen=True)
class Convention:
    """What has to be known beside a row's settings to count its parameters."""

    name: str
    vocab_size: int  # V, rows of the token table
    attention_biases: bool
    target_space_rows: int  # of a table [rows, d_model] that the authors' code has and our model has not


FORMULAS = Convention("formulas, V = 37,000", 37_000, attention_biases=False, target_space_rows=0)
FORMULAS_40960 = Convention("formulas, V = 40,960", 40_960, attention_biases=False, target_space_rows=0)
JUNE_2017 = Convention("code of June 2017", 40_960, attention_biases=True, target_space_rows=32)
CONVENTIONS = (FORMULAS, FORMULAS_40960, JUNE_2017)

# Rows whose counts differ by something other than the token table, which cancels.
DIFFERENCES = (("base", "B_d_k_16"), ("C_N_8", "C_N_4"), ("C_d_ff_4096", "C_d_ff_1024"))


@dataclass(frozen=True)
class ParameterRow:
    """A row of Table 3, its parameters as printed, in millions, and as they are counted by each of `CONVENTIONS`."""

    name: str
    printed: int | None
    counts: tuple[int, ...]

    def count(self, convention: Convention) -> int:
        return self.counts[CONVENTIONS.index(convention)]

    def residual(self, convention: Convention) -> float | None:
        """Ours minus the printed, in millions."""
        return None if self.printed is None else self.count(convention) / 1e6 - self.printed

    def is_equal(self, convention: Convention) -> bool | None:
        """Whether our count, rounded to millions, is the printed one."""
        return None if self.printed is None else round(self.count(convention) / 1e6) == self.printed

    def percent(self, convention: Convention) -> float:
        """How far our count is above the printed one, in percent of that; there must be one."""
        if self.printed is None:
            raise ValueError(f"{self.name}: the paper prints no number of parameters")
        return 100 * (self.count(convention) / 1e6 / self.printed - 1)


def parameter_table() -> list[ParameterRow]:
    """Every row of Table 3, in its order."""
    return [_row(name, row) for name, row in paper.TABLE_3.items()]


def _row(name: str, row: paper.Row) -> ParameterRow:
    model = load_experiment([CONFIGS / f"{name}.gin"]).model
    return ParameterRow(name, row.params_millions, tuple(count(model, convention) for convention in CONVENTIONS))


def count(model: config.Model, convention: Convention) -> int:
    """Parameters of `model`, with the convention's biases in place of its own and the convention's other tables."""
    # Layers are equal, so that one tells of all; no shape depends on dropout. What is left is traced once.
    shape = dataclasses.replace(model, num_layers=1, dropout_rate=0.0, attention_biases=convention.attention_biases)
    parts = _parts(shape)
    tables = convention.vocab_size * parts.a_token + convention.target_space_rows * model.d_model
    return model.num_layers * parts.a_layer + tables + parts.rest


@dataclass(frozen=True)
class _Parts:
    """Parameters of an encoder layer and a decoder layer, of each token in the tables, and of all that is left."""

    a_layer: int
    a_token: int
    rest: int  # learned positions, final norms


@functools.cache
def _parts(model: config.Model) -> _Parts:
    """Of a model of one layer, by the shapes of its parameters with a vocabulary of one token."""
    shapes = jax.eval_shape(lambda: initial_params(Transformer(model, vocab_size=1), seed=0))
    a_layer = _size(shapes["encoder"]["layers_0"]) + _size(shapes["decoder"]["layers_0"])
    a_token = _size({name: tree for name, tree in shapes.items() if name not in ("encoder", "decoder")})
    return _Parts(a_layer, a_token, rest=_size(shapes) - a_layer - a_token)


def _size(shapes: Any) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(shapes))


def render(rows: list[ParameterRow]) -> str:
    """The table, what may be claimed of it, and differences between rows, as aligned text that also is Markdown."""
    by_name = {row.name: row for row in rows}
    header = ["row", "paper", *(convention.name for convention in CONVENTIONS), "residual", "equal"]
    verdicts = "".join(f"- {_verdict(rows, convention)}\n" for convention in CONVENTIONS)
    return (
        f"Parameters in millions.\n\n{table(header, map(_cells, rows))}\n{_notes(by_name)}\n\n"
        f"Of the cells that the paper prints:\n\n{verdicts}\n"
        f"Differences between rows, from which the token table cancels, whatever V:\n\n{_differences(by_name)}"
    )


def _cells(row: ParameterRow) -> list[str]:
    counts = [f"{count / 1e6:.3f}" for count in row.counts]
    residual, equal = row.residual(JUNE_2017), row.is_equal(JUNE_2017)
    if row.printed is None or residual is None:
        return [row.name, "", *counts, "", ""]
    return [row.name, str(row.printed), *counts, f"{residual:+.3f}", "yes" if equal else "no"]


def _notes(by_name: dict[str, ParameterRow]) -> str:
    learned = by_name["E_learned_positions"].count(FORMULAS) - by_name["base"].count(FORMULAS)
    text = (
        "Counts are those of our model's parameters, with V rows in the one token table. The code of June 2017 has "
        f"V = {JUNE_2017.vocab_size:,}, attention biases, and a 'target space' table of {JUNE_2017.target_space_rows} "
        "rows of d_model columns, which our model does not have: it is added to the count. Residual is the count of "
        "that code minus the printed one, equal whether the two are when rounded; both are blank where the paper "
        f"prints none. E_learned_positions includes {learned / 1e6:.3f} of position tables, one of Model.max_length "
        "rows a stack; the paper does not give their size."
    )
    return textwrap.fill(text, width=120, break_on_hyphens=False)


def _verdict(rows: list[ParameterRow], convention: Convention) -> str:
    printed = [row for row in rows if row.printed is not None]
    equal = sum(row.is_equal(convention) is True for row in printed)
    furthest = max(printed, key=lambda row: abs(row.percent(convention))).name
    named = [row for row in printed if row.name in ("base", furthest, "big")]
    distances = ", ".join(
        f"{row.name}{' (the furthest)' * (row.name == furthest)} {_high_or_low(row.percent(convention))}"
        for row in named
    )
    return f"{convention.name}: {equal} of {len(printed)} equal after rounding; {distances}."


def _high_or_low(percent: float) -> str:
    return f"{abs(percent):.1f} % {'high' if percent > 0 else 'low'}"


def _differences(by_name: dict[str, ParameterRow]) -> str:
    head = ["difference", "paper", "formulas", "with attention biases", "within the rounding of both printed"]
    lines = []
    for name, other in DIFFERENCES:
        larger, smaller = by_name[name], by_name[other]
        printed = (larger.printed or 0) - (smaller.printed or 0)
        ours = [(larger.count(each) - smaller.count(each)) / 1e6 for each in (FORMULAS, JUNE_2017)]
        within = all(abs(each - printed) < 1 for each in ours)
        lines.append(
            [f"{name} minus {other}", str(printed), *(f"{each:.3f}" for each in ours), "yes" if within else "no"]
        )
    return table(head, lines)
