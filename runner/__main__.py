"""python -m runner: one cell, or with -m a whole grid."""

import atexit
import gc
import signal
import sys

from runner.output.tracking import load_early


def run() -> None:
    """The command. MLflow, which takes seconds to load, begins with that before anything else is loaded here."""
    _end_as_with_ctrl_c()
    atexit.register(gc.freeze)  # a last look for garbage takes half a second, and all of it is given back anyway
    if _will_log(sys.argv[1:]):
        load_early()
    from runner.launch.command import run_hydra

    run_hydra()


def _end_as_with_ctrl_c() -> None:
    """So that a batch system, a container or a closed terminal leaves results that say how far the sweep came. What is
    ignored, as under nohup, stays so.
    """
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


def _will_log(arguments: list[str]) -> bool:
    """True if it looks like a grid that is logged to MLflow. A wrong guess costs a process that ends unused."""
    return "-m" in arguments and not any(
        argument.startswith(("tracking", "run.plan_only", "hydra/launcher", "--")) for argument in arguments
    )


if __name__ == "__main__":
    run()
