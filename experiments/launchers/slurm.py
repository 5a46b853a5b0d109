"""A list of runs as a Slurm job array: a script with a task for each run that is left. It is written, not submitted.

A task runs the command itself for one run, whichever is free. SIGTERM comes before the time limit and when a job is
preempted: the run is saved, and a task that is put back into the queue goes on with it.
"""

import argparse
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from experiments.launchers.work import Need, Work
from experiments.workdir import write_text

SCRIPT, LOGS = "slurm.sh", "slurm"
_SECONDS_TO_SAVE = 120


def option(text: str) -> str:
    """A line of the script, for sbatch; argparse says what is wrong with it."""
    if not text.startswith("-") or len(text.splitlines()) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no option of sbatch")
    return text


def write(
    work: Work, workdir: Path, need: Need, command: Sequence[str], options: Sequence[str], say: Callable[[str], None]
) -> None:
    """Writes `slurm.sh` into the workdir for what is left, and says how to submit it. `command` works one run."""
    left = len(work.left())
    if not left:
        say("no run is left: there is nothing to submit")
        return
    folder = workdir.resolve()
    (folder / LOGS).mkdir(parents=True, exist_ok=True)  # Slurm makes no folders
    tasks = min(left, need.at_most or left)
    write_text(folder / SCRIPT, script(tasks, folder / LOGS, Path.cwd(), need, command, options))
    say(f"{left} runs are left; this submits a job array of {tasks}, a run each:")
    say(f"sbatch {shlex.quote(str(folder / SCRIPT))}")


def script(tasks: int, logs: Path, directory: Path, need: Need, command: Sequence[str], options: Sequence[str]) -> str:
    """`options` come last, and so override. The command takes the shell's place, and with it the signals for it."""
    log = str(logs).replace("%", "%%")
    own = [
        f"--job-name={command[2]}",
        f"--array=1-{tasks}",
        "--ntasks=1",
        f"--cpus-per-task={need.cpus}",
        *([f"--gres=gpu:{need.gpus}"] if need.gpus else []),
        f"--signal=B:TERM@{_SECONDS_TO_SAVE}",
        "--requeue",
        f"--output={shlex.quote(f'{log}/%A_%a.log')}",
        "--open-mode=append",
    ]
    lines = [
        "#!/bin/bash",
        "# A task for each run that was left. The command that wrote this writes one for what is left later.",
        *(f"#SBATCH {line}" for line in [*own, *options]),
        f"cd {shlex.quote(str(directory))} || exit",
        f"exec {shlex.join(command)}",
    ]
    return "\n".join(lines) + "\n"
