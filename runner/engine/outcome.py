"""The outcome of a stage, and the failure that it inherits from a failed input."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from runner.engine.broken_contracts import class_name
from runner.engine.plugins.plugin_loading import code_class
from runner.engine.source_code import is_ours
from runner.engine.stage import AnyStage


@dataclass(frozen=True)
class StageRun:
    """The outcome of one stage.

    `error` is "" unless the stage failed. `damaged` names the damaged results that were found and replaced.
    `over_budget` names the budget of the sweep that stopped the stage; "" if none did. `hidden` counts answers of a
    model in which the value of a secret variable was hidden, by variable, also in a result that was reused.
    """

    key: str
    kind: str
    seconds: float = 0.0
    reused: bool = False
    error: str = ""
    trace: str = ""
    damaged: tuple[str, ...] = ()
    over_budget: str = ""
    hidden: Mapping[str, int] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """True if the stage has no result."""
        return bool(self.error)


def inherited_failure(stage: AnyStage, failed: Mapping[str, StageRun]) -> StageRun | None:
    """Return the failure that a stage inherits from a failed input without running. None if no input failed."""
    for input_stage in stage.inputs:
        if input_stage.key in failed:
            cause = failed[input_stage.key]
            return StageRun(stage.key, stage.kind, error=cause.error, trace=cause.trace)
    return None


def user_code_note(stage: AnyStage) -> str:
    """Return a note for an error message with the users' classes and functions that a stage runs, or "" if it runs none
    of theirs.
    """
    classes = (cls for part in stage.components() for cls in (type(part), code_class(part)))
    names = dict.fromkeys(class_name(cls) for cls in classes if not is_ours(cls))
    return f" (your code in this stage: {', '.join(names)})" if names else ""
