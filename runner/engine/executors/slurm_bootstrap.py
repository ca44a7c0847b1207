"""The first function that a job calls. It is pickled by value, because a job can import this project only after it sets
the module search path of the driver.
"""

from collections.abc import Sequence


def run_assignment(modules: Sequence[str], assignment: bytes) -> None:
    """Set the module search path and run a pickled `StageAssignment`. Does not return."""
    import pickle
    import sys

    sys.path[:] = modules
    from runner.engine.executors.slurm_worker import supervise

    supervise(pickle.loads(assignment))  # noqa: S301 - pickled by the driver
