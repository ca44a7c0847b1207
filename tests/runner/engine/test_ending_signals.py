"""Signals that end a process, while it starts and ends others."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from components.secrets import output
from runner.console import ending_signals
from runner.console.ending_signals import ENDINGS, TERMINAL_SIGNALS, Interrupt, defer_ending_signals


@pytest.fixture(autouse=True)
def interrupted_by_all() -> Iterator[None]:
    """Handle signals as `python -m runner` does. Another thread could receive signals first."""
    end = threading.Event()
    other = threading.Thread(target=end.wait)
    other.start()
    before = {number: signal.signal(number, signal.default_int_handler) for number in ENDINGS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    end.set()
    other.join()


@pytest.mark.parametrize("number", ENDINGS)
def test_deferred_signal_of_any_thread_takes_effect_at_the_end(number: signal.Signals) -> None:
    reached = []

    def be_told() -> None:
        with defer_ending_signals(), defer_ending_signals(TERMINAL_SIGNALS):
            for _ in range(2):
                os.kill(os.getpid(), number)
                time.sleep(0.02)
            reached.append("the end")

    with pytest.raises(KeyboardInterrupt):
        be_told()
    assert reached == ["the end"]
    assert {signal.getsignal(each) for each in ENDINGS} == {signal.default_int_handler}
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & set(ENDINGS)


def test_simultaneous_signals_interrupt_once(monkeypatch: pytest.MonkeyPatch) -> None:
    signal.signal(signal.SIGTERM, interrupt := Interrupt())
    signal.signal(signal.SIGINT, interrupt)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGTERM)
    monkeypatch.setattr(ending_signals, "_SAME_INTERRUPT_S", 0.0)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


def test_ignored_signals_stay_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with defer_ending_signals():
        os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_signals_do_not_reach_started_processes() -> None:
    code = "import signal; print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())))"
    with defer_ending_signals(TERMINAL_SIGNALS):
        told = subprocess.run([sys.executable, "-SEc", code], capture_output=True, text=True, check=True).stdout
    assert told.strip() == str(sorted(TERMINAL_SIGNALS))


@pytest.mark.parametrize("is_masked", [False, True])
def test_interrupt_dropped_by_python_is_raised_again(
    is_masked: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python drops an interrupt that arrives while a finaliser runs."""

    class Finalised:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    interrupt = Interrupt()
    interrupt.repeat_lost()
    if is_masked:  # as every command does afterwards
        monkeypatch.setattr(sys, "unraisablehook", output._MaskedIgnored())
    signal.signal(signal.SIGINT, interrupt)
    began = time.monotonic()
    Finalised()
    with pytest.raises(KeyboardInterrupt):
        time.sleep(5)
    assert time.monotonic() - began < 4
    assert capsys.readouterr().err == ""
