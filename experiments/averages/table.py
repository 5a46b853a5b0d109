"""BLEU by what was averaged, as Markdown and as a picture."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from experiments.averages.chosen import Average
from experiments.averages.scores import Entry
from experiments.markdown import compact_table, listed
from experiments.workdir import whole_file

Scores = Mapping[Average, Entry]
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe and Ito's
_MARKS = "osD^v<>"
_HEAD = ["checkpoints", "spacing", "of steps", "BLEU", "from the newest alone", "BLEU, paper's protocol",
         "perplexity per piece"]  # fmt: skip


def markdown(name: str, by_split: Mapping[str, Scores], impossible: Sequence[Average]) -> str:
    """A table for each split; in each, without numbers, what the run keeps too few checkpoints for."""
    title = f"# {name}: BLEU by how many checkpoints are averaged, and how far apart\n"
    note = (
        "A spacing of 1 takes the newest checkpoints, one of 2 every second from the newest back. The paper averages "
        "the last 5, or of the big model the last 20, written every 10 minutes (section 6.1)."
    )
    sections = [_section(split, scores, impossible) for split, scores in by_split.items()]
    return "\n".join([title, *sections, note]) + "\n"


def _section(split: str, scores: Scores, impossible: Sequence[Average]) -> str:
    rows = [_row(average, scores.get(average), scores) for average in sorted({*scores, *impossible})]
    last = list(scores.values())[-1]
    sources = {
        "signature": last["bleu"]["signature"],
        "label": last["paper_bleu"]["signature"],
        "text": f"{last['sentences']:,} sentences of {last['corpus']}",
        "seed": last["settings"]["Training.seed"],
        "machine": f"{last['machine']}, {last['devices']}; revision {last['revision']}; {last['date']}",
        "command": f"`{last['command']}`",
    }
    lines = listed(f"{name}: {value}" for name, value in sources.items())
    return f"**{split}**\n\n{compact_table(_HEAD, rows)}\n{lines}"


def _row(average: Average, entry: Entry | None, scores: Scores) -> list[str]:
    if entry is None:
        return [str(average.count), str(average.spacing), "the run keeps too few", "", "", "", ""]
    bleu, alone = entry["bleu"]["value"], scores.get(Average(1, 1))
    return [
        str(average.count),
        str(average.spacing),
        " ".join(map(str, entry["steps"])),
        f"{bleu:.2f}",
        f"{bleu - alone['bleu']['value']:+.2f}" if alone and average.count > 1 else "",
        f"{entry['paper_bleu']['value']:.2f}",
        f"{entry['perplexity_per_piece']:.3f}",
    ]


def write_picture(path: Path, name: str, by_split: Mapping[str, Scores]) -> None:
    """As PNG: a row of panels for each split, BLEU and perplexity against the count, a line a spacing."""
    drawn = Figure(figsize=(11, 0.8 + 3.6 * len(by_split)), dpi=130, layout="constrained")
    drawn.suptitle(f"{name}: averages of checkpoints", x=0.01, ha="left", fontsize=12, parse_math=False)
    panels = drawn.subplots(len(by_split), 2, squeeze=False)
    for (split, scores), (left, right) in zip(by_split.items(), panels, strict=True):
        signature = next(iter(scores.values()))["bleu"]["signature"]
        _draw(left, {average: entry["bleu"]["value"] for average, entry in scores.items()})
        _draw(right, {average: entry["perplexity_per_piece"] for average, entry in scores.items()})
        left.set_title(f"BLEU on {split}\n{signature}", loc="left", fontsize=9)
        right.set_title(f"perplexity per piece on {split}", loc="left", fontsize=9)
    with whole_file(path) as temporary:
        drawn.savefig(temporary, format="png")


def _draw(axis: Axes, values: Mapping[Average, float]) -> None:
    """One checkpoint has no spacing: every line begins with it."""
    for place, spacing in enumerate(_spacings(values)):
        chosen = [average for average in values if average.spacing == spacing or average.count == 1]
        colour, mark = _COLOURS[place % len(_COLOURS)], _MARKS[place % len(_MARKS)]
        counts, heights = [average.count for average in chosen], [values[average] for average in chosen]
        axis.plot(counts, heights, color=colour, marker=mark, label=f"spacing {spacing}")
    axis.set_xlabel("checkpoints averaged")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.grid(color="#e4e4e4")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=9)


def _spacings(averages: Iterable[Average]) -> list[int]:
    return sorted({average.spacing for average in averages})
