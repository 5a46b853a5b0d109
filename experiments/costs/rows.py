"""What Table 2 says of a system or of one of our runs: a value in each column that it has."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from experiments.comparison.curves import labelled
from experiments.costs.recomputed import LANGUAGES, recomputed
from experiments.costs.runs import Costs, costs
from experiments.paper import TABLE_2, TABLE_2_OURS
from experiments.registry.records import SEED, RunRecord, number, read_runs

Row = dict[str, Any]
SPLIT = "test"
COLUMNS = (
    "system", "languages", "corpus", "sentences", "seed",
    "bleu_paper", "sacrebleu", "signature", "paper_bleu", "paper_bleu_label", "gap",
    "flops_paper", "flops_recomputed", "recomputed_from", "flops_estimated", "estimated_from", "flops_xla",
    "flops_formula", "updates", "seconds", "checkpoint_steps", "machine", "devices", "revision", "date",
    "training_commands", "command",
)  # fmt: skip


class OurRun(NamedTuple):
    """A run that is scored on the test set."""

    name: str
    record: RunRecord
    costs: Costs


def our_runs(folders: Sequence[Path]) -> tuple[list[OurRun], list[str]]:
    """Those in and below the folders, and the names of those that are not scored.

    Raises:
      RegistryError: a folder is not there, or holds no run.
    """
    records = labelled(read_runs(folders)) if folders else {}
    scored = {name: record for name, record in records.items() if SPLIT in record.results}
    return [OurRun(name, record, costs(record)) for name, record in scored.items()], sorted(records.keys() - scored)


def paper_rows(runs: Sequence[OurRun]) -> list[Row]:
    """The ten systems, twice; beside the paper's own what our runs of its configs have, each in a row of its own."""
    return [row for languages in LANGUAGES for system in TABLE_2 for row in _system(system, languages, runs)]


def _system(system: str, languages: str, runs: Sequence[OurRun]) -> Iterator[Row]:
    printed, again = TABLE_2[system], recomputed(system, languages)
    row = {
        "system": system,
        "languages": LANGUAGES[languages],
        "bleu_paper": getattr(printed, f"bleu_{languages}"),
        "flops_paper": getattr(printed, f"flops_{languages}"),
        "flops_recomputed": again and again.flops,
        "recomputed_from": again and again.how,
    }
    ours = [run for run in runs if TABLE_2_OURS.get(run.record.path.name) == (system, languages)]
    yield from [{**our_row(run), **row} for run in ours] or [row]


def our_row(run: OurRun) -> Row:
    """Everything of a run; what it lacks is None or not there."""
    entry, record = run.record.results[SPLIT], run.record
    commands = dict.fromkeys(str(launch["command"]) for launch in record.launches if launch.get("command"))
    names = ("corpus", "sentences", "machine", "devices", "revision", "date", "command")
    return {
        "system": run.name,
        "languages": _languages(record),
        "seed": record.settings(SPLIT).get(SEED),
        **_scores(entry),
        "flops_estimated": run.costs.estimate and run.costs.estimate.flops,
        "estimated_from": run.costs.estimate and run.costs.estimate.how,
        "flops_xla": run.costs.compiled,
        "flops_formula": run.costs.formula,
        **{name: record.totals.get(name) for name in ("updates", "seconds")},
        "checkpoint_steps": " ".join(map(str, entry.get("checkpoint_steps", []))),
        "training_commands": "; ".join(commands),
        **{name: entry.get(name) for name in names},
    }


def rows_apart(run: OurRun) -> Iterator[Row]:
    """The scores of `Scoring.test_rows`, if there are some: a row without costs."""
    if isinstance(apart := run.record.results[SPLIT].get("rows"), dict):
        yield {"system": run.name, "languages": _languages(run.record), "corpus": apart.get("file"),
               "sentences": apart.get("sentences"), **_scores(apart)}  # fmt: skip


def _scores(entry: Row) -> Row:
    """BLEU two ways; of trees it means nothing."""
    if "bracketing" in entry:
        return {}
    sacrebleu, paper_bleu = number(entry, "bleu", "value"), number(entry, "paper_bleu", "value")
    known = sacrebleu is not None and paper_bleu is not None
    return {
        "sacrebleu": sacrebleu,
        "signature": entry.get("bleu", {}).get("signature"),
        "paper_bleu": paper_bleu,
        "paper_bleu_label": entry.get("paper_bleu", {}).get("signature"),
        "gap": paper_bleu - sacrebleu if known else None,  # type: ignore[operator]
    }


def _languages(record: RunRecord) -> str:
    data = record.experiment and record.experiment.data
    return f"{data.source_language}-{data.target_language}" if data else ""
