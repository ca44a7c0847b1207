"""How many threads libraries may use in this process: one for each core, or as many as a worker was allotted.

Several processes that each take all cores do the same work in more time: their threads wait for one another.
"""

import os
import sys

_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Read by libraries of linear algebra and of parallel loops (FAISS, torch) when they are loaded."""


class _Allotted:
    """What this process may use, where it was told; and what the user wants of each library at most."""

    n_threads: int | None = None
    by_user: dict[str, int] = {}  # noqa: RUF012 - of the process


def n_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def n_threads() -> int:
    """Threads that whoever starts some may start."""
    return _Allotted.n_threads or n_cores()


def allot_threads(n: int) -> None:
    """From now on libraries use `n` threads in this process, those that are loaded and those that will be; fewer where
    the user's environment says so. Called by the thread that goes on to use them.
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
