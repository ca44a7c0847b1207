"""The plan of a sweep: the union of its graphs, what of it is in the store, and the order of the rest."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from components.errors import ConfigError
from components.json_value import Json
from runner.engine.identity import Models
from runner.engine.outdated import ALL, OtherVersions, outdated, results_of_other_versions
from runner.engine.request_counts import RequestCount, request_counts
from runner.engine.stage import AnyStage
from runner.engine.store import Store


@dataclass(frozen=True)
class KindCount:
    """Stages of one kind: how many are asked for, how many are distinct, how many of these are kept, how many are to be
    run (what lies behind a kept result is not). `n_just_made` of those kept are not from before: the plan needed them,
    such as the data set. `title` is the kind for users.
    """

    kind: str
    title: str
    n_asked: int
    n_unique: int
    n_kept: int
    n_to_run: int
    n_just_made: int


@dataclass(frozen=True)
class Plan:
    """What a sweep is going to do. `order` holds the stages to run, each after its inputs. `others` counts kept
    results that other versions of libraries made. Results of `outdated` are kept too; they are to be discarded and made
    again.
    """

    kinds: tuple[KindCount, ...]
    requests: tuple[RequestCount, ...]
    order: tuple[AnyStage, ...]
    others: OtherVersions = OtherVersions()
    outdated: tuple[AnyStage, ...] = ()

    @property
    def n_requests(self) -> int:
        """Of all kinds."""
        return sum(count.n_requests for count in self.requests)

    @property
    def n_requests_with_repeats(self) -> int:
        """At most, if replies that cannot be read are asked for again."""
        return sum(count.n_with_repeats for count in self.requests)

    def summary(self) -> dict[str, Json]:
        """The counts, for `sweep.json`."""
        return {
            "n_requests": self.n_requests,
            "n_requests_with_repeats": self.n_requests_with_repeats,
            "requests": {count.kind: count.n_requests for count in self.requests},
            "n_kept_of_other_versions": self.others.n_results,
            "stages": {
                kind.kind: {"n_asked": kind.n_asked, "n_unique": kind.n_unique, "n_kept": kind.n_kept}
                for kind in self.kinds
            },
        }


def make_plan(wanted: Sequence[tuple[AnyStage, int]], store: Store, fresh: Collection[str] = ()) -> Plan:
    """Counts and orders the stages behind the wanted ones; the number says how many cells ask for each of these. Kept
    results of the kinds `fresh` ("all": of all) that other versions of libraries made do not count.

    Raises ConfigError for kinds that the plan does not have.
    """
    stages: dict[str, AnyStage] = {}
    turns: dict[str, int] = {}
    asked: Counter[str] = Counter()
    for turn, (last, n_cells) in enumerate(wanted):
        for stage in last.upstream():
            stages.setdefault(stage.key, stage)
            turns.setdefault(stage.key, turn)
            asked[stage.kind] += n_cells
    kept = {key for key, stage in stages.items() if store.is_kept(stage.kind, key)}
    _check_kinds(fresh, asked)
    replaced = outdated(stages.values(), fresh, store)
    kept -= {stage.key for stage in replaced}
    just_made = {key for key in kept if store.has_made(stages[key].kind, key)}
    needed = _needed([last for last, _ in wanted], kept)
    levels = _levels(stages.values())
    return Plan(
        _kind_counts(stages, asked, kept, just_made, needed, levels),
        request_counts(needed, kept, store),
        tuple(_ordered(needed, turns, levels)),
        results_of_other_versions([stages[key] for key in stages if key in kept], store),
        tuple(replaced),
    )


def _check_kinds(fresh: Collection[str], known: Iterable[str]) -> None:
    if unknown := sorted(set(fresh) - {ALL, *known}):
        raise ConfigError(
            f"run.fresh: got {', '.join(unknown)}, expected kinds of stages of this sweep "
            f"({', '.join(sorted(known))}), or all"
        )


def _kind_counts(
    stages: Mapping[str, AnyStage],
    asked: Mapping[str, int],
    kept: set[str],
    just_made: set[str],
    needed: Mapping[str, AnyStage],
    levels: Mapping[str, int],
) -> tuple[KindCount, ...]:
    """In the order in which work flows."""
    of_kind: dict[str, list[str]] = defaultdict(list)
    for key, stage in stages.items():
        of_kind[stage.kind].append(key)
    flow = sorted(of_kind, key=lambda kind: max(levels[key] for key in of_kind[kind]))
    return tuple(
        KindCount(
            kind,
            stages[of_kind[kind][0]].title,
            asked[kind],
            len(of_kind[kind]),
            sum(key in kept for key in of_kind[kind]),
            sum(key in needed for key in of_kind[kind]),
            sum(key in just_made for key in of_kind[kind]),
        )
        for kind in flow
    )


def _needed(wanted: Iterable[AnyStage], kept: set[str]) -> dict[str, AnyStage]:
    """Stages whose results are wanted and not there: what lies behind a kept result is not needed."""
    needed: dict[str, AnyStage] = {}

    def visit(stage: AnyStage) -> None:
        if stage.key not in kept and stage.key not in needed:
            needed[stage.key] = stage
            for before in stage.inputs:
                visit(before)

    for stage in wanted:
        visit(stage)
    return needed


def _levels(stages: Iterable[AnyStage]) -> dict[str, int]:
    """How far along each stage is: one more than the furthest of its inputs. `stages` come after their inputs."""
    levels: dict[str, int] = {}
    for stage in stages:
        levels[stage.key] = 1 + max((levels[before.key] for before in stage.inputs), default=0)
    return levels


def _ordered(needed: Mapping[str, AnyStage], turns: Mapping[str, int], levels: Mapping[str, int]) -> list[AnyStage]:
    """Inputs first. Of the stages that are ready, those without a model go first; then those of the models that are
    loaded; only then other models. Among them it is the turn of the first cell that is not done, and of what is
    furthest along for it, so that cells finish one by one.
    """
    places = {key: (turns[key], -levels[key], i) for i, key in enumerate(needed)}
    waiting_for = {key: {s.key for s in stage.inputs} & needed.keys() for key, stage in needed.items()}
    followers: dict[str, list[str]] = defaultdict(list)
    for key, inputs in waiting_for.items():
        for before in inputs:
            followers[before].append(key)
    ready: dict[Models, list[tuple[tuple[int, int, int], str]]] = defaultdict(list)

    def add(key: str) -> None:
        heappush(ready[needed[key].models], (places[key], key))

    for key, inputs in waiting_for.items():
        if not inputs:
            add(key)
    order: list[AnyStage] = []
    none: Models = frozenset()
    loaded = none
    while any(ready.values()):
        others = sorted((models for models in ready if ready[models]), key=lambda models: ready[models][0])
        models = next((models for models in (none, loaded) if ready[models]), others[0])
        loaded = models or loaded
        _, key = heappop(ready[models])
        order.append(needed[key])
        for follower in followers[key]:
            waiting_for[follower].remove(key)
            if not waiting_for[follower]:
                add(follower)
    return order
