"""Requests of a user to a schedule while it runs: to pause, and to give up stages."""

from collections.abc import Collection, Iterable
from typing import Protocol

from runner.engine.stage import AnyStage


class Steering(Protocol):
    """Requests of a user to a running schedule. The scheduler looks for them whenever a stage ends."""

    @property
    def is_paused(self) -> bool:
        """True if no further stage may start. Running stages finish, and workers keep their models."""
        return False

    def look(self) -> Collection[str]:
        """Read new requests. Return the keys of stages to give up; with each one, all stages that depend on it."""
        return ()

    def note_running(self, stages: Iterable[AnyStage]) -> None:
        """Take note of the stages that run now."""
        return


class NoSteering(Steering):
    """A schedule that no user steers."""
