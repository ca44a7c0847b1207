"""python -m runner: one cell, or with -m a whole grid."""

import atexit
import gc
import os
import signal
import sys
from contextlib import suppress

from components.secrets.output import mask_output
from components.threads import n_cores
from runner.engine.endings import ENDINGS, Interrupt
from runner.output.tracking import load_early

_INTERRUPTED = 130
"""The exit code, as that of shells."""


def run() -> None:
    """The command. MLflow, which takes seconds to load, begins with that before anything else is loaded here."""
    _open_missing_streams()
    mask_output()
    _end_as_with_ctrl_c()
    atexit.register(gc.freeze)  # a last look for garbage takes half a second, and all of it is given back anyway
    try:
        will_log = _will_log(sys.argv[1:])
        if will_log:
            load_early()
        from runner.engine.executors.fork_server import start_early
        from runner.launch.command import run_hydra
        from runner.launch.preloading import PRELOADS

        has_idle_core = n_cores() > 1 + will_log  # beside this process, and MLflow's while that loads
        if has_idle_core and _may_share_work(sys.argv[1:]):
            start_early(PRELOADS)
        run_hydra()
    except KeyboardInterrupt:  # while it was loaded, or once more while it ended
        sys.exit(_INTERRUPTED)
    finally:
        _end_at_once_from_now_on()


def _open_missing_streams() -> None:
    """Where a daemon has started this without some of them, so that no file that is opened takes their place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - the lowest number that is free


def _end_as_with_ctrl_c() -> None:
    """So that a batch system, a container or a closed terminal leaves results that say how far the sweep came. What is
    ignored, as under nohup, stays so.
    """
    interrupt = Interrupt()
    interrupt.repeat_lost()
    for number in ENDINGS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, interrupt)
    # The last that is done: after that Python has no handlers any more, and would end by the signal.
    atexit.register(_set_handlers, signal.SIG_IGN)


def _end_at_once_from_now_on() -> None:
    """Who presses Ctrl-C again while the interpreter ends, and waits for threads perhaps, need not wait for that."""
    with suppress(OSError):
        sys.stdout.flush()
    # Python remembers an interrupt within code that is made from a text, as that of dataclasses is, until the next such
    # code, and would end by the signal though it was caught.
    exec("")  # noqa: S102
    _set_handlers(lambda *_: os._exit(_INTERRUPTED))


def _set_handlers(handler: "signal._HANDLER") -> None:
    for number in ENDINGS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _will_log(arguments: list[str]) -> bool:
    """True if it looks like a grid that is logged to MLflow. A wrong guess costs a process that ends unused."""
    return "-m" in arguments and not any(
        argument.startswith(("tracking", "run.plan_only", "hydra/launcher", "--")) for argument in arguments
    )


def _may_share_work(arguments: list[str]) -> bool:
    """True if it looks like a sweep in processes of this machine, which need nothing that Hydra sets. A wrong guess
    costs a process that ends unused, or workers that load for themselves.
    """
    rest = [argument for argument in arguments if argument != "executor=processes"]
    return "run.workers=1" not in rest and not any(
        argument.startswith(("run.plan_only", "executor=", "--")) or "hydra" in argument for argument in rest
    )


if __name__ == "__main__":
    run()
