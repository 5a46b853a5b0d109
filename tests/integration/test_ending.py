"""How a command ends when it is not bad input that ends it."""

import subprocess
import sys

from tiny_commands import PROJECT_ROOT

MAIN = """
import sys
from experiments import command

def main():
    {body}

command.run(main)
"""


def run_main(body, **options):
    command = [sys.executable, "-c", MAIN.format(body=body)]
    return subprocess.run(command, cwd=PROJECT_ROOT, text=True, **options)


def test_a_reader_that_has_gone_is_no_error():
    """As in `translate | head -1`."""
    body = "[sys.stdout.write('a line' * 1000 + '\\n') for _ in range(100)]; sys.stdout.flush()"
    with subprocess.Popen(["true"], stdin=subprocess.PIPE) as reader:
        reader.wait()
        ended = run_main(body, stdout=reader.stdin, stderr=subprocess.PIPE)
    assert (ended.returncode, ended.stderr) == (1, "")


def test_what_the_system_refuses_is_one_line():
    ended = run_main("open('/absent/file')", capture_output=True)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "error: /absent/file: No such file or directory\n"


def test_an_error_of_ours_is_not_hidden():
    """Only what a user can mend is one line; a defect keeps its traceback."""
    ended = run_main("[][0]", capture_output=True)
    assert ended.returncode == 1
    assert ended.stderr.startswith("Traceback")
    assert ended.stderr.endswith("IndexError: list index out of range\n")


def test_ctrl_c_is_one_word():
    ended = run_main("raise KeyboardInterrupt", capture_output=True)
    assert (ended.returncode, ended.stderr) == (130, "interrupted\n")
