"""Table 4 with ours beside the paper's, as Markdown."""

from collections.abc import Iterator
from typing import Any

from experiments.added_settings import ADDED
from experiments.markdown import compact_table, listed
from experiments.paper import TABLE_4, TABLE_4_OURS
from experiments.parsing.runs import ParsedRun
from experiments.parsing.yardsticks import NAMES
from transformer_jax.config import corpus_parts


def markdown(runs: list[ParsedRun]) -> str:
    """All in a line; the paper's rows and then ours; more of ours; what the numbers are, where they come from."""
    quality = compact_table(["parser", "training", "scored on", "F1, paper", "F1, ours"], _rows(runs))
    more = compact_table(
        ["run", "parser", "F1", "recall", "precision", "F1, at most 40 words", "complete match", "tagging accuracy",
         "sentences", "left out", "F1 of all, gold tags", "repaired"],
        _details(runs),
    )  # fmt: skip
    return (
        f"Table 4: {'; '.join(map(_summary, runs))}.\n\n{quality}\n{more}\n{_NOTE}\n\n{''.join(map(_provenance, runs))}"
    )


_NOTE = (
    "F1 is EVALB's, of labelled brackets. EVALB leaves out a sentence where the parse's tags make other words "
    "punctuation than the gold tree's do; with the gold tree's tags in place of the parse's it scores them all. PCFG: "
    "a grammar and a lexicon read off the run's own training trees, each sentence's best tree found by CKY. "
    "Right-branching: each word with all that comes after it. Both get words alone, as the Transformer does. The "
    "paper's rows are scored on section 23 of the Wall Street Journal."
)


def _summary(run: ParsedRun) -> str:
    scores = [run.entry["bracketing"], *((run.yardsticks or {}).get(key) for key in NAMES)]
    f1 = [f"{name} {_f1(score)}" for name, score in zip(("F1", *NAMES.values()), scores, strict=True) if score]
    return f"{run.folder.name}, {', '.join(f1)}, trained in {_minutes(run.entry['training'])} minutes"


def _minutes(measured: dict[str, Any]) -> str:
    return f"{measured['seconds'] / 60:,.0f}"


def _rows(runs: list[ParsedRun]) -> Iterator[list[str]]:
    """A run of one of the paper's two configs stands in the paper's row, any other in one of its own."""
    by_row = {TABLE_4_OURS[run.folder.name]: run for run in runs if run.folder.name in TABLE_4_OURS}
    for row in TABLE_4:
        ours = _f1(by_row[row].entry["bracketing"]) if row in by_row else ""
        yield [row.name, row.training, "WSJ 23", f"{row.f1:.1f}", ours]
    for run in runs:
        where = [_training(run), _source(run, "test"), ""]
        if run not in by_row.values():
            yield [_name(run), *where, _f1(run.entry["bracketing"])]
        for key, name in NAMES.items():
            if run.yardsticks:
                yield [name, *where, _f1(run.yardsticks[key])]


def _details(runs: list[ParsedRun]) -> Iterator[list[str]]:
    for run in runs:
        scores = {_name(run): run.entry["bracketing"]}
        if run.yardsticks:
            scores |= {name: run.yardsticks[key] for key, name in NAMES.items()}
        for name, score in scores.items():
            yield [run.folder.name, name, *_cells(score)]


def _cells(score: dict[str, Any]) -> list[str]:
    measures = (score["f1"], score["recall"], score["precision"], score["short"]["f1"], score["complete_match"],
                score["tagging_accuracy"])  # fmt: skip
    repaired = score.get("repaired_sentences")
    return [
        *(f"{value:.2f}" for value in measures),
        f"{score['sentences']:,}",
        f"{score['error_sentences']:,}",
        f"{score['with_gold_tags']['f1']:.2f}",
        "" if repaired is None else f"{repaired:,}",
    ]


def _f1(score: dict[str, Any]) -> str:
    return f"{score['f1']:.2f}"


def _name(run: ParsedRun) -> str:
    model = run.experiment.model
    return f"Transformer ({model.num_layers} layers, d_model {model.d_model})"


def _training(run: ParsedRun) -> str:
    return f"{_source(run, 'train')}, {run.training_trees:,} trees"


def _source(run: ParsedRun, split: str) -> str:
    """As in "train.trees.gz", or "wsj/02 and 19 more"; with the folder that the paths start in."""
    first, *others = (part[0].removeprefix("trees:") for part in corpus_parts(getattr(run.experiment.data, split)))
    return f"{first} and {len(others)} more" if others else first


def _provenance(run: ParsedRun) -> str:
    entry, settings = run.entry, ADDED | run.entry["settings"]
    score = entry["bracketing"]
    trees = ", ".join(f"{name} = {value}" for name, value in settings.items() if name.startswith("Trees."))
    search = ("beam_size", "length_penalty", "max_extra_length", "constrained_to_trees", "constrained_to_inventory")
    lines = [
        f"score: EVALB, parameters {score['parameters']}; {entry['corpus']}",
        f"trees: {trees}",
        "search: " + ", ".join(f"Decoding.{name} = {settings[f'Decoding.{name}']}" for name in search),
        f"weights: mean of the checkpoints of steps {', '.join(map(str, entry['checkpoint_steps']))}",
        f"trained {entry['training']['updates']:,.0f} updates in {_minutes(entry['training'])} minutes; "
        f"scored in {entry['seconds'] / 60:,.1f} minutes",
        f"{entry['machine']}, {entry['devices']}; revision {entry['revision']}; {entry['date']}",
        f"`{entry['command']}`",
    ]
    if kept := run.yardsticks:
        lines.append(
            f"yardsticks: {kept['others']:,} sentences have no tree by the PCFG, and are right-branching; "
            f"{kept['seconds'] / 60:,.1f} minutes, {kept['machine']}"
        )
    return f"{run.folder.name}:\n\n{listed(lines)}\n"
