"""Settings of a race between the cells of a sweep."""

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from components.statistics import RaceRules
from components.subsets import OVERALL

SUBSETS = "subsets"


class RaceOpponents(Enum):
    """Opponents of a cell. ALL: every other cell. COST: cells that cost no more in the plan."""

    ALL = "all"
    COST = "cost"


@dataclass(frozen=True)
class RaceSettings:
    """Rules by which cells that can no longer win stop early. No cell stops unless the race is `enabled`.

    Cells race by `metric`, "" for the metric that ranks them. `alpha`, `margin` and `first_look` are explained in
    `components.statistics.racing.RaceRules`. `seed` draws the order of the samples.

    A cell stops once it can win no target: `targets` are "overall", and "subsets" for every subset too. With
    `against=cost` it stops if it is not on the front of quality and cost.
    """

    enabled: bool
    metric: str = ""
    alpha: float = 0.05
    margin: float = 0.0
    first_look: int = 20
    seed: int = 0
    targets: tuple[str, ...] = (OVERALL,)
    against: RaceOpponents = RaceOpponents.ALL

    is_axis: ClassVar[bool] = False

    @property
    def rules(self) -> RaceRules:
        """The rules of the race."""
        return RaceRules(self.alpha, self.margin, self.first_look)

    def check(self) -> list[str]:
        """Return one message per number out of range."""
        problems = [] if 0 < self.alpha < 1 else [f"alpha: got {self.alpha}, expected an error rate in (0, 1)"]
        if not 0 <= self.margin < 1:
            problems.append(f"margin: got {self.margin}, expected a difference of the metric in [0, 1)")
        if self.first_look < 1:
            problems.append(f"first_look: got {self.first_look}, expected at least 1 sample")
        if self.targets not in ((OVERALL,), (OVERALL, SUBSETS)):
            got = ", ".join(self.targets)
            problems.append(f"targets: got [{got}], expected [{OVERALL}] or [{OVERALL}, {SUBSETS}]")
        return problems


NO_RACE = RaceSettings(enabled=False)
