"""Writes docs/gallery.md and its pictures: the paper's Figures 3 to 5, drawn from models that were trained here.

python -m experiments.gallery

Needs two runs, of gin_configs/multi30k/tiny.gin and of gin_configs/quickstart.gin, and changes nothing in them.
"""

from pathlib import Path

from experiments import command
from experiments.attention.gallery import gallery
from experiments.workdir import write_text

DOCS = Path(__file__).resolve().parents[1] / "docs"


def main() -> None:
    flags = command.Parser(__doc__)
    flags.add_argument("--multi30k", type=Path, default=Path("runs/multi30k_tiny"), metavar="RUN")
    flags.add_argument("--quickstart", type=Path, default=Path("runs/quickstart"), metavar="RUN")
    flags.add_argument("--into", type=Path, default=DOCS, metavar="FOLDER", help="for gallery.md and gallery/*.png")
    args = flags.parse_args()
    write_text(args.into / "gallery.md", gallery(args.multi30k, args.quickstart, args.into))
    print(f"written: {args.into / 'gallery.md'}")


if __name__ == "__main__":
    command.run(main)
