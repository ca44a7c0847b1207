"""Cached results that other versions of libraries computed: counted for the plan, and computed again on request."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from runner.engine.environment import changed_versions
from runner.engine.stage import AnyStage
from runner.engine.store import Store

ALL = "all"
"""Name for all kinds of stages."""


@dataclass(frozen=True)
class OtherVersions:
    """Cached results of a plan that were computed with versions other than the installed ones.

    `packages` maps (package, its version then) to the number of results. `kinds` lists their kinds, inputs first.
    """

    n_results: int = 0
    packages: Mapping[tuple[str, str], int] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()


def count_other_versions(stages: Iterable[AnyStage], store: Store) -> OtherVersions:
    """Count the results in the folder of the store that other versions computed. Fetches no results from a bucket."""
    versions_by_stage = {stage: changed_versions(store.library_versions(stage.kind, stage.key)) for stage in stages}
    differing = {stage: versions for stage, versions in versions_by_stage.items() if versions}
    packages = Counter(each for versions in differing.values() for each in versions.items())
    return OtherVersions(len(differing), dict(packages), tuple(dict.fromkeys(stage.kind for stage in differing)))


def find_outdated_stages(stages: Iterable[AnyStage], kinds: Collection[str], store: Store) -> list[AnyStage]:
    """Return the stages to compute again although their results are cached.

    These are the results of the named kinds that other versions computed, and all results derived from them. `stages`
    must be ordered inputs first, and so is the returned list.
    """
    if not kinds:
        return []
    cached, reached = list[AnyStage](), set[str]()
    for stage in stages:
        is_cached = store.is_cached(stage.kind, stage.key)
        is_named = is_cached and (stage.kind in kinds or ALL in kinds)
        if any(input_stage.key in reached for input_stage in stage.inputs) or (
            is_named and changed_versions(store.library_versions(stage.kind, stage.key))
        ):
            reached.add(stage.key)
            cached += [stage] if is_cached else []
    return cached


def discard(stages: Sequence[AnyStage], store: Store) -> None:
    """Remove the results of stages that are ordered inputs first.

    Removes the last stage first: a kill then leaves no result without the inputs that are needed to compute it again.
    """
    for stage in reversed(stages):
        if entry := store.find(stage.kind, stage.key):
            store.discard(entry)
