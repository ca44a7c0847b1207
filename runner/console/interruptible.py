"""Runs a command so that Ctrl-C, SIGTERM and SIGHUP end it cleanly, even while its modules are loaded."""

import atexit
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from runner.console.ending_signals import ENDINGS, Interrupt, unmask_interrupts
from runner.console.own_packages import mark_command
from runner.console.standard_output import guard_standard_output, is_output_lost

EXIT_INTERRUPTED = 130
"""Exit code, the same as that of shells."""

EXIT_OUTPUT_LOST = 1
_PATIENCE_S = 3.0
EXIT_NOT_RUN = 2
_NUMBA_SETTINGS = ".numba_config.yaml"


def run_main(module: str, *arguments: object) -> None:
    """Load `module`, call its `main` with the arguments, and exit with the code that it returns.

    Logs, warnings and tracebacks hide secrets. Exits with 130 after one line if the command is interrupted, even while
    `module` is loaded.
    """
    run_interruptibly(lambda: _load_and_call(module, arguments), "\nInterrupted.\n")


def _load_and_call(module: str, arguments: tuple[object, ...]) -> None:
    from components.secrets.output import mask_output

    mask_output()
    sys.exit(import_module(module).main(*arguments))


def run_interruptibly(command: Callable[[], object], line: str) -> None:
    """Call `command`. If it is interrupted, write `line` to standard error and exit with 130.

    Exit with 1 if the command succeeded but standard output could not be written, as on a full disk. Exit with 2 after
    one line if the locale's encoding lacks a character of a file name or an argument, or if numba would read settings
    from the working directory.
    """
    mark_command()
    _open_missing_streams()
    guard_standard_output()
    _end_like_ctrl_c()
    # A last garbage collection takes half a second, and the process frees its memory anyway.
    atexit.register(gc.freeze)
    _refuse_foreign_settings()
    try:
        _call(command)
    except KeyboardInterrupt:
        with suppress(OSError):  # the terminal was closed
            sys.stderr.write(line)
        sys.exit(EXIT_INTERRUPTED)
    finally:
        _end_immediately()
        _announce_waiting()


def _call(command: Callable[[], object]) -> None:
    try:
        with unmask_interrupts():
            command()
    except SystemExit as ending:
        if ending.code or not is_output_lost():
            raise
    except UnicodeEncodeError as error:
        encoding = sys.getfilesystemencoding()
        if encoding == "utf-8":
            raise
        sys.stderr.write(
            f"{error.object[error.start]!a}: the locale's encoding, {encoding}, does not have this character. It "
            "occurs in a file name or an argument. Set PYTHONUTF8=1, or a locale such as LC_ALL=C.UTF-8\n"
        )
        sys.exit(EXIT_NOT_RUN)
    if is_output_lost():
        sys.exit(EXIT_OUTPUT_LOST)


def _refuse_foreign_settings() -> None:
    """Exit if numba would read a file of the working directory. Its settings name files that numba overwrites."""
    file = Path(_NUMBA_SETTINGS)
    if file.exists() and find_spec("numba"):
        sys.stderr.write(
            f"{file.absolute()}: numba reads this file in the working directory, and its settings may overwrite files. "
            "Work in another folder, or remove the file and set NUMBA_* environment variables instead\n"
        )
        sys.exit(EXIT_NOT_RUN)


def _open_missing_streams() -> None:
    """Open the standard streams that a daemon closed, so that no other file gets their descriptors."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - the lowest free number


def _end_like_ctrl_c() -> None:
    """Let other signals end the command as Ctrl-C does, so that its results record how far it got.

    Batch systems, containers and closed terminals send such signals. Ignored signals, as under nohup, stay ignored.
    """
    interrupt = Interrupt()
    interrupt.repeat_lost()
    for number in ENDINGS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, interrupt)
    if hasattr(os, "register_at_fork"):
        _reset_terminate_in_forks(interrupt)
    # Runs last. Python then removes its handlers, and a signal would end the process.
    atexit.register(_set_handlers, signal.SIG_IGN)


def _reset_terminate_in_forks(interrupt: Interrupt) -> None:
    """Let SIGTERM end forked children without a traceback: `multiprocessing.Pool` sends it to its processes.

    It is blocked during a fork, because the child has our handler until it runs `reset`.
    """
    forking = threading.local()

    def block() -> None:
        forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def unblock() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, getattr(forking, "mask", ()))

    def reset() -> None:
        if signal.getsignal(signal.SIGTERM) is interrupt:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        unblock()

    os.register_at_fork(before=block, after_in_parent=unblock, after_in_child=reset)


def _end_immediately() -> None:
    """Make another Ctrl-C end the process immediately, even while the interpreter waits for threads."""
    with suppress(OSError):
        sys.stdout.flush()
    # Python remembers an interrupt within generated code, such as methods of dataclasses, until it next runs such code.
    # It would then end by the signal, although the interrupt was caught.
    exec("")  # noqa: S102
    _set_handlers(lambda *_: os._exit(EXIT_INTERRUPTED))


def _announce_waiting() -> None:
    """Name the threads for which the interpreter waits, if the command does not end within a few seconds."""
    if _other_threads():
        timer = threading.Timer(_PATIENCE_S, _report_waiting_threads)
        timer.daemon = True
        timer.start()


def _report_waiting_threads() -> None:
    names = ", ".join(thread.name for thread in _other_threads())
    with suppress(OSError):
        sys.stderr.write(
            f"The command is done, but waits for threads that a component or a library started ({names}); Ctrl-C ends "
            "it now. A component should end its threads, or start them with daemon=True.\n"
        )
        sys.stderr.flush()


def _other_threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if not each.daemon and each is not threading.main_thread()]


def _set_handlers(handler: "signal._HANDLER") -> None:
    for number in ENDINGS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)
