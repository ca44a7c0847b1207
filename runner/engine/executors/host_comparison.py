"""Comparison of two hosts: results may come from another host only if everything that they depend on is equal there."""

from collections.abc import Iterable, Mapping

from runner.engine.plugins.plugin_loading import find_loaded
from runner.engine.source_code import is_ours
from runner.engine.stage import AnyStage


def find_user_packages(stages: Iterable[AnyStage]) -> tuple[str, ...]:
    """Return the top-level packages of users that define the stages' components, and the packages that these import."""
    classes = {type(part) for stage in stages for part in stage.components()}
    used = {cls.__module__.partition(".")[0] for cls in classes if not is_ours(cls)}
    snapshots = [snapshot for package in used if (snapshot := find_loaded(package))]
    return tuple(sorted(used.union(*(snapshot.packages for snapshot in snapshots))))


def differences(there: Mapping[str, str], here: Mapping[str, str]) -> list[str]:
    """Describe each version that differs, with both values."""
    names = [name for name in {**here, **there} if there.get(name) != here.get(name)]
    return [f"{name} is {there.get(name, 'missing')} there and {here.get(name, 'missing')} here" for name in names]
