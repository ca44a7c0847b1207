"""Stages that add numbers: small, and at module level, so that worker processes can load them."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from components.fields import runtime_only
from runner.engine.codecs import Codec, SinglePart
from runner.engine.stage import Resources, Stage
from runner.engine.stage_run import Run


@dataclass(frozen=True, eq=False)
class Number(Stage[int]):
    """A number, and the numbers that are added to it."""

    kind: ClassVar[str] = "number"
    version: ClassVar[int] = 1
    codec: ClassVar[Codec[int]] = SinglePart("number")

    amount: int
    added: tuple[Stage[int], ...] = ()

    def make(self, run: Run) -> int:
        return self.amount + sum(run.read(stage) for stage in self.added)


@dataclass(frozen=True, eq=False)
class Timed(Stage[int]):
    """Takes a while, and writes down from when to when it ran. Waits until `n_beside` others of its kind have begun, at
    most for ten seconds.
    """

    kind: ClassVar[str] = "timed"
    version: ClassVar[int] = 1
    codec: ClassVar[Codec[int]] = SinglePart("number")

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


@dataclass(frozen=True, eq=False)
class Mortal(Timed):
    """A stage whose worker dies twice."""

    kind: ClassVar[str] = "mortal"

    def make(self, run: Run) -> int:
        with (Path(self.notes) / "deaths").open("a+") as deaths:
            deaths.write("x")
            n_tries = deaths.tell()
        if n_tries < 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().make(run)


@dataclass(frozen=True, eq=False)
class Greedy(Timed):
    """Wants more cores than any test has workers."""

    kind: ClassVar[str] = "greedy"
    resources: ClassVar[Resources] = Resources(cpus=64)
