import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runner.sweeping import REPOSITORY

PROGRAM = """
import os
from pathlib import Path
from runner.launch.preloading import PRELOADS
for load in PRELOADS:
    load()
for thread in Path("/proc/self/task").iterdir():
    if thread.name != str(os.getpid()):
        print((thread / "comm").read_text().strip())
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted as Linux lists them")
def test_preloading_starts_no_threads_that_a_fork_would_lose() -> None:
    """The threads of OpenBLAS and of pyarrow's jemalloc stop before a fork and restart after it."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=REPOSITORY,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) <= {"jemalloc_bg_thd"}
