"""What a command compiles is there for the next one, however quickly it was compiled."""

import os
import subprocess
import sys

from tiny_commands import PROJECT_ROOT

COMPILE = """
import jax
from experiments.command import keep_compiled_programs
keep_compiled_programs()
jax.jit(lambda x: 3 * x + 1)(jax.numpy.arange(5))
"""


def test_a_program_that_compiles_in_no_time_is_kept_too(tmp_path):
    environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(tmp_path), "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, "-c", COMPILE], cwd=PROJECT_ROOT, env=environment, check=True)
    assert list(tmp_path.iterdir())
