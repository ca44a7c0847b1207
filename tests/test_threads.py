"""Libraries use the threads that their process was allotted."""

import json
import os
import subprocess
import sys
from pathlib import Path

from components.threads import n_cores, n_threads

REPOSITORY = Path(__file__).resolve().parents[1]

_PROGRAM = """
import json, sys
import numpy
from components.threads import allot_threads, n_threads
def most():
    from threadpoolctl import threadpool_info
    return {each["user_api"]: each["num_threads"] for each in threadpool_info()}
allot_threads(int(sys.argv[1]))
before = most()
import faiss
loaded_later = most()
allot_threads(int(sys.argv[2]))
print(json.dumps([before, loaded_later, most(), n_threads()]))
"""


def thread_counts(*allotted: int, **environment: str) -> list[dict[str, int]]:
    """Threads by kind of library: at first, when one more is loaded, and after another allotment."""
    variables = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *map(str, allotted)],
        cwd=REPOSITORY,
        env={**variables, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[dict[str, int]] = json.loads(done.stdout)
    return found


def test_libraries_use_the_allotted_threads_whenever_loaded() -> None:
    assert thread_counts(1, 2) == [{"blas": 1}, {"blas": 1, "openmp": 1}, {"blas": 2, "openmp": 2}, 2]


def test_libraries_use_no_more_threads_than_the_user_sets() -> None:
    assert thread_counts(2, 2, OMP_NUM_THREADS="1")[1]["openmp"] == 1


def test_process_without_an_allotment_uses_a_thread_per_core() -> None:
    assert n_threads() == n_cores() >= 1
