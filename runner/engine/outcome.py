"""How a stage ended."""

from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass

from runner.engine.stage import AnyStage


@dataclass(frozen=True)
class StageRun:
    """`error` is "" unless the stage failed; `damaged` names results that were found damaged on the way; `over_budget`
    is the budget of the sweep that stopped it, "" for none.
    """

    key: str
    kind: str
    seconds: float = 0.0
    reused: bool = False
    error: str = ""
    trace: str = ""
    damaged: tuple[str, ...] = ()
    over_budget: str = ""

    @property
    def failed(self) -> bool:
        """True if there is no result."""
        return bool(self.error)


def inherited_failure(stage: AnyStage, failed: Mapping[str, StageRun]) -> StageRun | None:
    """The failure that a stage inherits from an input, if any: it is not tried."""
    for before in stage.inputs:
        if before.key in failed:
            cause = failed[before.key]
            return StageRun(stage.key, stage.kind, error=cause.error, trace=cause.trace)
    return None


_OURS = ("components", "runner")


def users_code(stage: AnyStage) -> str:
    """Name the users' classes that a stage runs, for a message about a failure that names none; "" if it runs none."""
    classes = (type(part) for part in stage.components() if is_dataclass(part))
    names = dict.fromkeys(
        f"{cls.__module__}.{cls.__qualname__}" for cls in classes if cls.__module__.partition(".")[0] not in _OURS
    )
    return f" (your code in this stage: {', '.join(names)})" if names else ""
