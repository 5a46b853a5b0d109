"""How much each parameter of a sweep matters, by PED-ANOVA (Watanabe et al. 2023, arXiv:2304.10255).

It is how differently a parameter is distributed among the best trials and among all; where it is sampled in some trials
only, within those (arXiv:2601.20800).
"""

import math
import warnings

from matplotlib.figure import Figure
from optuna.importance import PedAnovaImportanceEvaluator
from optuna.visualization import plot_param_importances
from plotly.graph_objects import Figure as Page

from experiments.study.drawing import BLUE, CHARACTER, empty, html, wrapped
from experiments.study.finished_trials import FinishedTrials, NoPicture

# In simulated sweeps, the best quarter told which of six parameters decides more surely than the best tenth: of 100
# sweeps, in 71 with 10 trials each, in 95 with 20, in 99 with 30.
_BEST, _FEW = 5, 20


def importance(finished: FinishedTrials) -> tuple[Page, Figure]:
    """Bars, the longest above."""
    best, count = number_of_best(finished), len(finished.trials)
    evaluator = PedAnovaImportanceEvaluator(target_quantile=(best - 0.5) / count)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some regimes for parameter", UserWarning)  # the labels say how few trials
        page = plot_param_importances(finished.study, evaluator, list(finished.parameters))  # or in a set's order
    names, shares = page.data[0].y, page.data[0].x
    if len(set(shares)) == 1:
        raise NoPicture("no parameter is distributed more differently among the best trials than another")
    some = {name: f" (in {had} of {count} trials)" * (had < count) for name, had in finished.parameters.items()}
    labels = [wrapped(name + some[name], 44) for name in names]
    few = f" Fewer than {_FEW}: chance may rank the parameters." * (count < _FEW)
    method = f"PED-ANOVA, what tells the best {best} trials from all {count}"
    title = f"What matters for {finished.metric}: {method}. {finished.counts}.{few}"
    scale = "share of the importance (the sum is 1, whether or not anything matters)"
    page.update_layout(title=html(wrapped(title, 110)), xaxis_title=scale, yaxis_title="")
    page.update_layout(height=230 + 48 * len(labels)).update_yaxes(tickvals=names, ticktext=[*map(html, labels)])
    left = 0.3 + CHARACTER * max(len(line) for label in labels for line in label.split("\n"))
    drawn, axis = empty(title, left + 5.5, 1.6 + 0.5 * len(labels), left, 0.6)
    axis.bar_label(axis.barh(names, shares, height=0.6, color=BLUE), page.data[0].text, padding=3, fontsize=9)
    axis.set_yticks(range(len(labels)), labels, fontsize=9, parse_math=False)
    axis.set(xlim=(0, 1.1 * max(shares)), xlabel=scale)
    axis.spines[["top", "right"]].set_visible(False)
    return page, drawn


def number_of_best(finished: FinishedTrials) -> int:
    """A quarter of the trials, or five if that is more and no more than half; with all that equal the last of them."""
    varied = {name for t in finished.trials for name, drawn in t.distributions.items() if not drawn.single()}
    if len(varied) < 2:
        raise NoPicture(f"parameters that vary: {len(varied)}, and shares need 2")
    scores = finished.scores
    last = scores[max(min(_BEST, len(scores) // 2), math.ceil(len(scores) / 4)) - 1]
    if last == scores[-1]:
        raise NoPicture("so many scores are equal that the best trials cannot be told from the rest")
    return len(scores) - scores[::-1].index(last)
