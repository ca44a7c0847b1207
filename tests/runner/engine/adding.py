"""Stages that add numbers: small, and at module level, so that worker processes can load them."""

import os
import signal
import time
from pathlib import Path

from components.fields import runtime_only
from runner.engine.codecs import SinglePart
from runner.engine.stage import Resources, Stage
from runner.engine.stage_run import Run


class Number(Stage[int], kind="number", version=1):
    """A number, and the numbers that are added to it."""

    codec = SinglePart("number")

    amount: int
    added: tuple[Stage[int], ...] = ()

    def make(self, run: Run) -> int:
        return self.amount + sum(run.read(stage) for stage in self.added)


class Timed(Stage[int], kind="timed", version=1):
    """Takes a while, and records when it started and ended. Waits until `n_beside` others of its kind have started, at
    most for ten seconds.
    """

    codec = SinglePart("number")

    number: int
    notes: str = runtime_only("", "a folder for notes changes no number")
    n_beside: int = runtime_only(0, "waiting changes no number")

    def make(self, run: Run) -> int:
        started = time.monotonic()
        (Path(self.notes) / f"{self.kind}_{self.number}").touch()
        while len(list(Path(self.notes).glob(f"{self.kind}_*"))) <= self.n_beside and time.monotonic() < started + 10:
            time.sleep(0.01)
        time.sleep(0.15)
        (Path(self.notes) / f"{self.kind}-{self.number}").write_text(f"{started} {time.monotonic()}")
        return self.number


class Mortal(Timed, kind="mortal"):
    """A stage whose worker dies twice."""

    def make(self, run: Run) -> int:
        with (Path(self.notes) / "deaths").open("a+") as deaths:
            deaths.write("x")
            n_tries = deaths.tell()
        if n_tries < 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().make(run)


class Greedy(Timed, kind="greedy", resources=Resources(cpus=64)):
    """Requires more cores than any test has workers."""
