"""Lists, shows and ranks runs, whoever made them, of any folders that hold some.

python -m experiments.runs list runs --split=test --filter='Model.d_ff = 256' --sort=-bleu
python -m experiments.runs show runs/quickstart
python -m experiments.runs best runs/table3 --metric=bleu --split=dev --gin
"""

import sys
from argparse import Namespace
from pathlib import Path

from experiments import command
from experiments.registry import ranking
from experiments.registry.records import HIGHER_IS_BETTER, read_run, read_runs
from experiments.registry.tables import listing, matching, page
from transformer_jax.data.prepared import SPLITS


class _Action(command.Parser):
    """`list`, `show` or `best`, each with flags of its own."""

    def __init__(self, prog: str, description: str):
        super().__init__(description)
        self.prog = prog


def _flags() -> command.Parser:
    flags = command.Parser(__doc__)
    actions = flags.add_subparsers(dest="action", required=True, parser_class=_Action)
    listed = actions.add_parser("list", description="A line a run, with the settings in which the runs differ.")
    show = actions.add_parser("show", description="Everything about one run.")
    best = actions.add_parser("best", description="Runs by a metric, the best first, seeds taken together.")
    show.add_argument("workdir", type=Path)
    for action in (listed, best):
        action.add_argument("folders", nargs="+", type=Path, help="runs, or folders of runs at any depth")
        action.add_argument("--split", choices=SPLITS, default="dev", help="whose scores")
        action.add_argument(
            "--filter", action="append", default=[], help="'Model.d_ff = 256' or 'bleu > 20'; may be repeated"
        )
        action.add_argument("--format", choices=("table", "markdown", "csv"), default="table")
    listed.add_argument("--sort", help="a column; with - before it, the largest first")
    listed.add_argument("--columns", help="columns and settings by name, with commas between them")
    best.add_argument("--metric", choices=tuple(HIGHER_IS_BETTER), default="bleu")
    best.add_argument(
        "--gin", action="store_true", help="print the best one's config, the ranking as comments above it"
    )
    return flags


def main() -> None:
    args = _flags().parse_args()
    if args.action == "show":
        print(page(read_run(args.workdir)), end="")
    elif args.action == "best":
        _best(args)
    else:
        records = matching(read_runs(args.folders), args.split, args.filter)
        columns = [name.strip() for name in args.columns.split(",")] if args.columns else None
        print(listing(records, args.split, sort=args.sort, columns=columns).text(args.format), end="")


def _best(args: Namespace) -> None:
    records = matching(read_runs(args.folders), args.split, args.filter)
    repeated = ranking.ranking(records, args.metric, args.split)
    table = ranking.ranking_table(repeated, args.metric, args.split).text(args.format)
    notes = "".join(f"{line}\n" for line in ranking.notes(repeated, records, args.metric, args.split))
    if args.gin:
        comments = "".join(f"# {line}\n" for line in f"{table}{notes}".splitlines())
        print(f"{comments}\n{ranking.winner_gin(repeated, args.metric, args.split)}", end="")
        return
    print(table, end="")
    print(f"\n{notes}", end="", file=sys.stderr if args.format == "csv" else sys.stdout)


if __name__ == "__main__":
    command.run(main)
