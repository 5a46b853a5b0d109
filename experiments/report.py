"""Writes what runs measured: a page in `docs` for each folder, and in the README, between its marks, a list of them.

python -m experiments.report runs/quickstart runs/multi30k_tiny runs/table3_builtin_eighth

A number there has no other way in. A folder may hold a run's scores, a table of the paper's, learning curves, or what a
benchmark measured. Of one that is not there, or not finished, the page stays as it stands.
"""

import sys
from collections import Counter
from pathlib import Path

from experiments import command
from experiments.reporting.pages import contents, page_of, write_page
from experiments.workdir import WorkdirError, write_text

_BEGIN, _END = "<!-- results: written by experiments.report -->\n", "<!-- end of results -->\n"


def main() -> None:
    flags = command.Parser(__doc__)
    flags.add_argument("workdirs", nargs="+", type=Path)
    flags.add_argument(
        "--into", type=Path, default=Path("README.md"), help="the page with the marks; docs are beside it"
    )
    args = flags.parse_args()
    text = args.into.read_text(encoding="utf-8")
    if text.count(_BEGIN) != 1 or text.count(_END) != 1:
        raise WorkdirError(f"{args.into}: must hold the two marks {_BEGIN.strip()} and {_END.strip()} once each")
    name, times = Counter(workdir.name for workdir in args.workdirs).most_common(1)[0]
    if times > 1:
        raise WorkdirError(f"{times} folders are called {name}, and would have one page")
    docs = args.into.parent / "docs"
    for workdir in args.workdirs:
        if not write_page(workdir, docs):
            print(f"{workdir} holds no results: {page_of(workdir, docs)} stays as it is", file=sys.stderr)
    pages = [page for workdir in args.workdirs if (page := page_of(workdir, docs)).exists()]
    before, rest = text.split(_BEGIN)
    write_text(args.into, f"{before}{_BEGIN}\n{contents(pages, args.into.parent)}\n{_END}{rest.split(_END)[1]}")
    print(f"written: {args.into}")


if __name__ == "__main__":
    command.run(main)
