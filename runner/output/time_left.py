"""Estimates the time that a running sweep still needs, from the stages that it has computed."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from runner.engine.identity import Models
from runner.engine.stage import AnyStage

_Group = tuple[str, Models]
"""Stages of the same kind and with the same models take about the same time."""

_MIN_SECONDS = 10.0
"""Seconds before the first estimate."""

_MIN_SHARE = 0.05
"""Share of a stage, and of the work of a sweep, that must be done before an estimate."""


@dataclass
class _Running:
    """A running stage: its share of work at its first report and at its last one, with their times."""

    group: _Group
    first_share: float
    first_at: float
    share: float
    at: float

    def seconds(self) -> float | None:
        """Return the estimated seconds of the whole stage; None if too little of it was done."""
        done = self.share - self.first_share
        return (self.at - self.first_at) / done if done >= _MIN_SHARE else None


class TimeLeft:
    """Estimates the time left from the mean seconds of each kind of stage and from the work done per second so far.

    An estimate for the sweep needs a measurement of every kind of stage that is still to run, with the same models.
    """

    def __init__(self, order: Sequence[AnyStage], now: float) -> None:
        self._began = now
        self._groups: dict[str, _Group] = {stage.key: (stage.kind, stage.models) for stage in order}
        self._n_left = Counter(self._groups.values())
        self._n_measured: Counter[_Group] = Counter()
        self._seconds: dict[_Group, float] = {}
        self._running: dict[str, _Running] = {}

    def update(self, key: str, share: float, now: float) -> None:
        """Record that this share of a stage is done."""
        if key in self._groups:
            running = self._running.setdefault(key, _Running(self._groups[key], share, now, share, now))
            running.share, running.at = share, now

    def record_end(self, key: str, seconds: float) -> None:
        """Record that a stage ended, after `seconds` of computation, or 0 if its result was reused."""
        self._running.pop(key, None)
        if key not in self._groups:  # the stage replaced a damaged result and was not planned
            return
        group = self._groups[key]
        self._n_left[group] -= 1
        if seconds:
            self._n_measured[group] += 1
            self._seconds[group] = self._seconds.get(group, 0.0) + seconds

    def idle(self, seconds: float) -> None:
        """Record that nothing ran for some seconds, because the sweep was paused."""
        self._began += seconds

    def stage_seconds_left(self, key: str) -> float | None:
        """Return the seconds that a running stage still needs, or None if too little of it was done to tell."""
        running = self._running.get(key)
        seconds = running.seconds() if running else None
        return seconds * (1 - running.share) if running and seconds is not None else None

    def seconds_of_sweep(self, now: float) -> float | None:
        """Return the seconds that all remaining stages need at the present pace, or None if it is too early to tell."""
        if now - self._began < _MIN_SECONDS:
            return None
        work_left, work_done = 0.0, sum(self._seconds.values())
        costs = {group: self._cost(group) for group, n in self._n_left.items() if n}
        for group, cost in costs.items():
            if cost is None:
                return None
            work_left += cost * self._n_left[group]
        for running in self._running.values():
            cost = costs[running.group] or 0.0
            work_left -= cost * running.share
            work_done += cost * (running.share - running.first_share)
        if work_done <= 0 or work_done < _MIN_SHARE * (work_done + work_left):
            return None
        return max(work_left, 0.0) * (now - self._began) / work_done

    def _cost(self, group: _Group) -> float | None:
        """Return the mean seconds of a stage of this group."""
        if self._n_measured[group]:
            return self._seconds[group] / self._n_measured[group]
        times = [seconds for each in self._running.values() if each.group == group if (seconds := each.seconds())]
        return sum(times) / len(times) if times else None


def time_left_text(seconds: float | None) -> str:
    """Return "about 4 min left", rounded to what an estimate can tell, or "" for None."""
    if seconds is None:
        return ""
    if seconds < 60:
        return "less than a minute left"
    minutes = seconds / 60
    if minutes < 10:
        return f"about {round(minutes)} min left"
    if minutes < 90:
        return f"about {5 * round(minutes / 5)} min left"
    return f"about {round(minutes / 60)} h left" if minutes >= 600 else f"about {minutes / 60:.1f} h left"
