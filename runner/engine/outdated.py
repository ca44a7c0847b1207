"""Kept results that other versions of libraries made: counted for the plan, and made again where the user says so."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from runner.engine.environment import other_versions
from runner.engine.stage import AnyStage
from runner.engine.store import Store

ALL = "all"
"""Stands for all kinds of stages."""


@dataclass(frozen=True)
class OtherVersions:
    """Results of a plan that are kept, and were made with other versions than are installed here. `packages` has the
    number of results by (package, its version then); `kinds` are their kinds, inputs first.
    """

    n_results: int = 0
    packages: Mapping[tuple[str, str], int] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()


def results_of_other_versions(stages: Iterable[AnyStage], store: Store) -> OtherVersions:
    """Of the stages whose results lie in the folder of the store: one that waits in a bucket is not fetched for it."""
    found = {stage: other_versions(store.made_with(stage.kind, stage.key)) for stage in stages}
    differing = {stage: others for stage, others in found.items() if others}
    packages = Counter(each for others in differing.values() for each in others.items())
    return OtherVersions(len(differing), dict(packages), tuple(dict.fromkeys(stage.kind for stage in differing)))


def outdated(stages: Iterable[AnyStage], kinds: Collection[str], store: Store) -> list[AnyStage]:
    """Stages whose kept results are to be made again: those of the named kinds that other versions made, and all that
    was made from them. `stages` come after their inputs, as do those that are returned.
    """
    if not kinds:
        return []
    kept, reached = list[AnyStage](), set[str]()
    for stage in stages:
        is_kept = store.is_kept(stage.kind, stage.key)
        is_named = is_kept and (stage.kind in kinds or ALL in kinds)
        if any(before.key in reached for before in stage.inputs) or (
            is_named and other_versions(store.made_with(stage.kind, stage.key))
        ):
            reached.add(stage.key)
            kept += [stage] if is_kept else []
    return kept


def discard(stages: Sequence[AnyStage], store: Store) -> None:
    """Removes the results of stages that come after their inputs. The last goes first: after a kill no result is left
    without the input that it has to be made again with.
    """
    for stage in reversed(stages):
        if entry := store.find(stage.kind, stage.key):
            store.discard(entry)
