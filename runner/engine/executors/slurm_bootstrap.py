"""The first thing that a job does. It is sent as it stands here, not by its name: a job finds this project only once it
looks for modules where the driver does.
"""

from collections.abc import Sequence


def work_like_the_driver(modules: Sequence[str], assignment: bytes) -> None:
    """Looks for modules in these places from now on, and does what a pickled `Assignment` says. Does not return."""
    import pickle
    import sys

    sys.path[:] = modules
    from runner.engine.executors.slurm_worker import supervise

    supervise(pickle.loads(assignment))  # noqa: S301 - what the driver pickled
