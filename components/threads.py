"""Number of threads that libraries may use in this process: one per core, or the number allotted to a worker.

Several processes that each use all cores are slower than processes that share them, because their threads wait for one
another.
"""

import os
import sys

_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Read by libraries for linear algebra and for parallel loops (FAISS, torch) when they are loaded."""


class _Allotted:
    """The threads allotted to this process, if any, and the user's limit for each library."""

    n_threads: int | None = None
    by_user: dict[str, int] = {}  # noqa: RUF012 - shared by the process


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def n_threads() -> int:
    """Return the number of threads that code in this process may start."""
    return _Allotted.n_threads or n_cores()


def allot_threads(n: int) -> None:
    """Limit libraries in this process to `n` threads, or fewer where the user's environment says so.

    The limit covers libraries that are loaded now and later. Call it in the thread that will use them.
    """
    from threadpoolctl import threadpool_limits

    if _Allotted.n_threads is None:
        values = {name: os.environ.get(name, "") for name in _VARIABLES}
        _Allotted.by_user = {name: int(value) for name, value in values.items() if value.isdecimal()}
    elif n == _Allotted.n_threads:
        return
    _Allotted.n_threads = n
    for name in _VARIABLES:
        os.environ[name] = str(min(n, _Allotted.by_user.get(name, n)))
    most = min([n, *_Allotted.by_user.values()])
    threadpool_limits(most)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(most)
