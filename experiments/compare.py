"""Compares two runs: settings, progress, scores with tests of their difference, lengths, sentences, learning curves.

python -m experiments.compare runs/multi30k_tiny runs/multi30k_mine --split=test --into=runs/compared

Runs that are not finished, or not scored, are compared as far as they are. What is printed is Markdown; nothing is
written but the learning curves, `compare.png`, and those only with `--into`.
"""

from pathlib import Path

from experiments import command
from experiments.comparison.curves import require_outside, write_curves
from experiments.comparison.lengths import lengths_section
from experiments.comparison.progress import progress_section
from experiments.comparison.run import ComparedRun, read_run, require_split
from experiments.comparison.scored_text import read_texts, require_same_test, scored_text
from experiments.comparison.scores import same_translations, scores_section, tests_section
from experiments.comparison.sentences import sentences_section
from experiments.comparison.settings import settings_section


def main() -> None:
    flags = command.Parser(__doc__)
    flags.add_argument("a", metavar="A", type=Path, help="a run's folder")
    flags.add_argument("b", metavar="B", type=Path, help="another run's; differences are B's less A's")
    flags.add_argument("--split", default="test", help="train, dev or test, as the runs were evaluated on")
    flags.add_argument("--into", type=Path, help="where compare.png, the learning curves, is written")
    args = flags.parse_args()
    require_split(args.split)
    a, b = (read_run(label, workdir, args.split) for label, workdir in (("A", args.a), ("B", args.b)))
    sections = {"settings": settings_section(a, b), "progress": progress_section(a, b), **scored_sections(a, b)}
    if args.into:
        require_outside("--into", args.into, args.a, args.b)
        written = args.into / "compare.png"
        write_curves({f"{run.label}: {run.workdir}": run.record for run in (a, b)}, written)
        sections["learning curves"] = f"written: {written}\n"
    text = "\n".join(f"## {title}\n\n{section}" for title, section in sections.items() if section)
    print(f"A: {args.a}\nB: {args.b}\n\n{text}", end="")


def scored_sections(a: ComparedRun, b: ComparedRun) -> dict[str, str]:
    """All that needs scores or translations, as far as they are there.

    Raises:
      ComparisonError: the two runs' scores are not of one test set and one BLEU.
      CorpusError: the test set cannot be read.
    """
    require_same_test(a, b)
    sections = {f"scores on {a.split}": scores_section(a, b)}
    scored = [run for run in (a, b) if run.translations is not None]
    if not scored:
        return sections
    texts = read_texts(scored[0])
    lengths = {"lengths": lengths_section([scored_text(run, texts) for run in scored], texts)}
    if len(scored) < 2:
        return sections | lengths
    ours, theirs = (scored_text(run, texts) for run in scored)
    if ours.translations == theirs.translations:
        return sections | {"difference": same_translations(a, b)} | lengths
    tests = tests_section(ours, theirs, texts)
    sentences = sentences_section(ours.translations, theirs.translations, texts.corpus)
    return sections | {"difference": tests} | lengths | {"sentences": sentences}


if __name__ == "__main__":
    command.run(main)
