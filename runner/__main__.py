"""python -m runner: one cell, or with -m a whole grid."""

import sys

from runner.output.tracking import load_early


def run() -> None:
    """The command. MLflow, which takes seconds to load, begins with that before anything else is loaded here."""
    if _will_log(sys.argv[1:]):
        load_early()
    from runner.launch.command import run_hydra

    run_hydra()


def _will_log(arguments: list[str]) -> bool:
    """True if it looks like a grid that is logged to MLflow. A wrong guess costs a process that ends unused."""
    return "-m" in arguments and not any(
        argument.startswith(("tracking", "run.plan_only", "hydra/launcher", "--")) for argument in arguments
    )


if __name__ == "__main__":
    run()
