"""Settings of a search, which runs some cells of a space instead of its whole grid."""

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar


class Strategy(Enum):
    """Ways to propose cells: see `runner.launch.search_strategies`. NONE runs the whole grid."""

    NONE = "none"
    RANDOM = "random"
    TPE = "tpe"
    GREEDY = "greedy"


@dataclass(frozen=True)
class SpaceSearchSettings:
    """Settings of a search. It runs at most `n_cells`, and proposes `batch` cells at a time.

    `objectives` are metrics and kinds of cost. The first metric ranks the cells; () for the metric that ranks the
    cells anyway. `seed` draws the proposals.
    """

    strategy: Strategy
    n_cells: int = 60
    objectives: tuple[str, ...] = ()
    batch: int = 4
    seed: int = 0

    is_axis: ClassVar[bool] = False

    @property
    def enabled(self) -> bool:
        """True if only some cells run."""
        return self.strategy is not Strategy.NONE

    def check(self) -> list[str]:
        """Return one message per number out of range, and a message for objectives that the strategy cannot weigh."""
        problems = [
            f"{name}: got {getattr(self, name)}, expected at least 1"
            for name in ("n_cells", "batch")
            if getattr(self, name) < 1
        ]
        if not 0 <= self.seed < 2**32:
            problems.append(f"seed: got {self.seed}, expected 0 to 4294967295")
        if len(set(self.objectives)) < len(self.objectives):
            problems.append(f"objectives: got {', '.join(self.objectives)}, expected each of them once")
        if len(self.objectives) > 1 and self.strategy is Strategy.GREEDY:
            problems.append(
                "objectives: search=greedy takes the best value of an axis, which several objectives do not define. "
                "Use search=tpe or search=random, or one objective."
            )
        return problems


NO_SEARCH = SpaceSearchSettings(Strategy.NONE)
