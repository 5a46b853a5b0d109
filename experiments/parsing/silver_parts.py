"""A part of a silver treebank: the trees of some lines, and what was left out of them and why."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from experiments.workdir import write_text
from transformer_jax.decoding.parser import Parse, Parser


@dataclass
class Counts:
    """Of lines read, of trees left out by reason, and of repairs in these."""

    lines: int = 0
    trees: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    repairs: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Counts") -> None:
        self.lines += other.lines
        self.trees += other.trees
        self.left_out.update(other.left_out)
        self.repairs.update(other.repairs)

    def told(self) -> list[str]:
        reasons = (f"  left out {count:,} {reason}" for reason, count in sorted(self.left_out.items()))
        return [f"{self.lines:,} lines, {self.trees:,} trees", *reasons]


def reason_to_leave_out(parse: Parse) -> str | None:
    """Why a tree is not what the parser says of the whole sentence; None if it is."""
    if parse.tree is None:
        return "without words"
    if not parse.translation.hypothesis.finished:
        return "whose tree did not end"
    if parse.translation.problems:
        return "too long for the model"
    return "that needed repair" if parse.repairs else None


def write_part(path: Path, lines: list[str], parser: Parser, *, first: int) -> None:
    """Parses lines, of which the first has this number in the whole input, and keeps what came out."""
    parses = parser.parse(lines, first=first)
    reasons = [reason_to_leave_out(parse) for parse in parses]
    trees = [str(parse.tree) for parse, reason in zip(parses, reasons, strict=True) if reason is None]
    repairs: Counter[str] = Counter()
    for parse in parses:
        repairs.update(parse.repairs)
    part = {"trees": trees, "lines": len(lines), "left_out": Counter(filter(None, reasons)), "repairs": repairs}
    write_text(path, json.dumps(part, ensure_ascii=False))


def read_part(path: Path) -> tuple[list[str], Counts]:
    part = json.loads(path.read_text(encoding="utf-8"))
    trees = part.pop("trees")
    return trees, Counts(part["lines"], len(trees), Counter(part["left_out"]), Counter(part["repairs"]))
