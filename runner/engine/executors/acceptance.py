"""Whether results may come from another host: what they depend on must be the same there."""

from collections.abc import Iterable, Mapping

from runner.engine.source_code import is_ours
from runner.engine.stage import AnyStage


def users_packages(stages: Iterable[AnyStage]) -> tuple[str, ...]:
    """Packages of the user's own that stages use, whose code counts."""
    classes = {type(part) for stage in stages for part in stage.components()}
    return tuple(sorted({cls.__module__.partition(".")[0] for cls in classes if not is_ours(cls)}))


def differences(there: Mapping[str, str], here: Mapping[str, str]) -> list[str]:
    """The versions that are others there, each with both."""
    names = [name for name in {**here, **there} if there.get(name) != here.get(name)]
    return [f"{name} is {there.get(name, 'missing')} there and {here.get(name, 'missing')} here" for name in names]
