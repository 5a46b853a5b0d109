"""What came of a fault, and the table of all."""

from collections.abc import Sequence
from typing import NamedTuple

from experiments.markdown import compact_table


class Tally(NamedTuple):
    """How often a fault was tried, and how often what is promised came true."""

    fault: str
    promise: str
    tried: int
    survived: int
    remark: str = ""

    @property
    def lost(self) -> int:
        return self.tried - self.survived


def fault_table(tallies: Sequence[Tally]) -> str:
    head = ["Fault", "What is promised", "Tried", "Survived", "Lost", "Remark"]
    rows = [[t.fault, t.promise, str(t.tried), str(t.survived), str(t.lost), t.remark] for t in tallies]
    return compact_table(head, rows)
