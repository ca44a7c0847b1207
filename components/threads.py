"""Number of threads that libraries may use in this process: one per core, or the number allotted to a worker.

Processes that each use all cores slow one another down, because their threads compete for the cores.
"""

import os
import sys

_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that libraries for linear algebra and for parallel loops (FAISS, torch) read when they are loaded."""


class _Limits:
    """The number of threads allotted to this process, if any, and the user's limits by environment variable."""

    n_threads: int | None = None
    by_user: dict[str, int] = {}  # noqa: RUF012 - shared by the process


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def n_threads() -> int:
    """Return the number of threads that code in this process may start."""
    return _Limits.n_threads or n_cores()


def allot_threads(n: int) -> None:
    """Limit libraries in this process to `n` threads, or fewer where the user's environment says so.

    The limit covers libraries that are loaded now and later. Call it in the thread that will use them.
    """
    from threadpoolctl import threadpool_limits

    if _Limits.n_threads is None:
        values = {name: os.environ.get(name, "") for name in _VARIABLES}
        _Limits.by_user = {name: int(value) for name, value in values.items() if value.isdecimal()}
    elif n == _Limits.n_threads:
        return
    _Limits.n_threads = n
    for name in _VARIABLES:
        os.environ[name] = str(min(n, _Limits.by_user.get(name, n)))
    limit = min([n, *_Limits.by_user.values()])
    threadpool_limits(limit)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(limit)
