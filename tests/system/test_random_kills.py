"""Faults, SIGKILL at random moments among them, lose nothing; and so says the page that is written of them.

`make faults` tries them more often, and writes the page.
"""

import os
import re
import subprocess
import sys

import pytest
from faults.tally import Tally, fault_table
from tiny_commands import PROJECT_ROOT


def counts(page: str) -> dict[str, tuple[int, ...]]:
    """Fault -> tried, survived, lost."""
    rows = [line.split(" | ") for line in page.splitlines() if re.match(r"\| [^|]+ \| [^|]+ \| \d", line)]
    return {row[0].removeprefix("| "): tuple(map(int, row[2:5])) for row in rows}


def require_nothing_lost(page: str) -> None:
    found = counts(page)
    kills = [tried for fault, (tried, _, _) in found.items() if fault.startswith("SIGKILL")]
    assert len(found) == 10
    assert sum(kills) == int(re.search(r"--kills=(\d+)", page)[1])
    assert all(tried == survived and lost == 0 for tried, survived, lost in found.values()), found
    assert all(tried > 0 for fault, (tried, _, _) in found.items() if fault != "A full disc")


def test_a_table_counts_what_is_lost():
    table = fault_table([Tally("A fault", "that", 7, 4), Tally("Another", "this", 2, 2, "in 3 s")])
    assert counts(table) == {"A fault": (7, 4, 3), "Another": (2, 2, 0)}
    with pytest.raises(AssertionError):
        require_nothing_lost(table)


def test_the_page_says_that_nothing_was_lost():
    require_nothing_lost((PROJECT_ROOT / "docs" / "reliability.md").read_text())


@pytest.mark.slow
def test_nothing_is_lost():
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    command = [sys.executable, "-m", "faults", "--kills=10", "--times=1"]
    ended = subprocess.run(
        command, cwd=PROJECT_ROOT, env=environment | {"PYTHONPATH": "tests"}, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    require_nothing_lost(ended.stdout)
