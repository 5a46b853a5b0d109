"""In what two runs differ before anything is measured: settings, vocabulary, code, libraries, machine."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from experiments.comparison.run import ComparedRun
from experiments.markdown import listed, table

_NOT_KNOWN = "not known"


class Different(NamedTuple):
    """One thing, and what either run has."""

    name: str
    a: str
    b: str


def settings_section(a: ComparedRun, b: ComparedRun) -> str:
    """What differs, as Markdown; that nothing does, where nothing does."""
    different, elsewhere = different_settings(a, b), [*different_vocabularies(a, b), *different_provenance(a, b)]
    head = f"{len(different)} of {len(a.settings)} settings differ; in the config's order:"
    parts = [
        f"{head}\n\n{_table('setting', different)}" if different else f"All {len(a.settings)} settings are the same.\n",
        listed(line for run in (a, b) for line in scored_otherwise(run)),
        _table("made with", elsewhere) if elsewhere else "Code, libraries and machine are the same.\n",
    ]
    return "\n".join(filter(None, parts))


def different_settings(a: ComparedRun, b: ComparedRun) -> list[Different]:
    """Settings that training or scoring had, in the config's order: what a run was scored with is what counts."""
    return _different(a.settings, b.settings)


def scored_otherwise(run: ComparedRun) -> list[str]:
    """A line where the scores were made with other settings than the folder's config, as bindings on `evaluate` do."""
    kept, used = run.record.settings(), run.settings
    changes = [f"{name} = {used[name]!r}, not {kept[name]!r}" for name in kept if used[name] != kept[name]]
    return [f"{run.label} was scored with other settings than its config's: {'; '.join(changes)}"] if changes else []


def different_vocabularies(a: ComparedRun, b: ComparedRun) -> list[Different]:
    if a.vocabulary is None or b.vocabulary is None:
        return []
    ours, theirs = ({"vocabulary, SHA-256": run.vocabulary.fingerprint[:12]} for run in (a, b) if run.vocabulary)
    return _different(ours, theirs, str)


def different_provenance(a: ComparedRun, b: ComparedRun) -> list[Different]:
    """Of training and of scoring, each where both runs have it."""
    different = []
    for what, ours, theirs in (("training", a.record.launches, b.record.launches), ("scoring", _scored(a), _scored(b))):
        if ours and theirs:
            found = _different(_provenance(ours), _provenance(theirs), str)
            different += [row._replace(name=f"{row.name}, {what}") for row in found]
    return different


def _scored(run: ComparedRun) -> list[dict[str, Any]]:
    return [run.entry] if run.entry else []


def _provenance(notes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What each launch had; of several, one after the other."""
    flat = [
        {name: note.get(name) for name in ("revision", "machine", "devices")} | note.get("versions", {})
        for note in notes
    ]
    names = dict.fromkeys(name for each in flat for name in each)
    return {name: _then(each.get(name) for each in flat) for name in names}


def _then(values: Iterable[Any]) -> str:
    return ", then ".join(dict.fromkeys(_NOT_KNOWN if value is None else str(value) for value in values))


def _different(ours: Mapping[str, Any], theirs: Mapping[str, Any], show: Any = repr) -> list[Different]:
    names = dict.fromkeys([*ours, *theirs])
    pairs = ((name, ours.get(name, _NOT_KNOWN), theirs.get(name, _NOT_KNOWN)) for name in names)
    return [Different(name, show(one), show(other)) for name, one, other in pairs if one != other]


def _table(head: str, rows: Iterable[Different]) -> str:
    return table([head, "A", "B"], rows)
