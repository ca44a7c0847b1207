"""The plan of a sweep: the union of its graphs, the cached results, and the order of the stages to run."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from components.errors import ConfigError
from components.json_value import Json
from components.limits import expected_one_of
from runner.engine.identity import Models
from runner.engine.outdated_results import ALL, OtherVersions, count_other_versions, find_outdated_stages
from runner.engine.request_counts import RequestCount, count_missing_requests
from runner.engine.stage import AnyStage
from runner.engine.store import Store
from runner.engine.uncovered_files import EditedFiles, find_edited_files


@dataclass(frozen=True)
class KindCount:
    """Counts of the stages of one kind: requested by cells, distinct, cached, and to be run.

    A stage that only a cached result needs is not run. `n_computed_by_plan` counts the cached results that planning
    itself computed, such as the data set. `title` is the kind for users.
    """

    kind: str
    title: str
    n_requested: int
    n_unique: int
    n_cached: int
    n_to_run: int
    n_computed_by_plan: int


@dataclass(frozen=True)
class Plan:
    """The work of a sweep.

    `order` holds the stages to run, each after its inputs. `others` counts the cached results that other versions of
    libraries computed. The results of `outdated` are cached too, but the sweep discards them and computes them again.
    `edited_files` are files without a place in any key that users' components read in earlier runs.
    """

    kinds: tuple[KindCount, ...]
    requests: tuple[RequestCount, ...]
    order: tuple[AnyStage, ...]
    others: OtherVersions = OtherVersions()
    outdated: tuple[AnyStage, ...] = ()
    edited_files: tuple[EditedFiles, ...] = ()

    @property
    def n_requests(self) -> int:
        """Number of requests of all kinds."""
        return sum(count.n_requests for count in self.requests)

    @property
    def n_requests_with_repeats(self) -> int:
        """Maximum number of requests of all kinds, including repeats after unreadable replies."""
        return sum(count.n_with_repeats for count in self.requests)

    def summary(self) -> dict[str, Json]:
        """Return the counts for `sweep.json`."""
        return {
            "n_requests": self.n_requests,
            "n_requests_with_repeats": self.n_requests_with_repeats,
            "requests": {count.kind: count.n_requests for count in self.requests},
            "requests_of_groups": {
                count.kind: {
                    group.title: {
                        "n_requests": group.n_requests,
                        "n_requests_with_repeats": group.n_with_repeats,
                        "n_tokens": group.n_tokens,
                        "is_exact": group.is_exact,
                    }
                    for group in count.groups
                }
                for count in self.requests
                if count.groups
            },
            "n_cached_of_other_versions": self.others.n_results,
            "edited_files": {component.name: list(component.files) for component in self.edited_files},
            "stages": {
                kind.kind: {"n_requested": kind.n_requested, "n_unique": kind.n_unique, "n_cached": kind.n_cached}
                for kind in self.kinds
            },
        }


def make_plan(targets: Sequence[tuple[AnyStage, int]], store: Store, fresh: Collection[str] = ()) -> Plan:
    """Count and order the stages that `targets` depend on. Each target comes with the number of cells that request it.

    Cached results of the kinds in `fresh` ("all" for all kinds) do not count if other versions of libraries computed
    them.

    Raises ConfigError if `fresh` names a kind that the plan does not contain.
    """
    stages: dict[str, AnyStage] = {}
    turns: dict[str, int] = {}
    n_requested: Counter[str] = Counter()
    for turn, (last, n_cells) in enumerate(targets):
        for stage in last.upstream():
            stages.setdefault(stage.key, stage)
            turns.setdefault(stage.key, turn)
            n_requested[stage.kind] += n_cells
    cached = {key for key, stage in stages.items() if store.is_cached(stage.kind, key)}
    _check_kinds(fresh, n_requested)
    replaced = find_outdated_stages(stages.values(), fresh, store)
    cached -= {stage.key for stage in replaced}
    computed_by_plan = {key for key in cached if store.was_computed_here(stages[key].kind, key)}
    needed = _stages_to_run([last for last, _ in targets], cached)
    levels = _levels(stages.values())
    return Plan(
        _kind_counts(stages, n_requested, cached, computed_by_plan, needed, levels),
        count_missing_requests(needed, cached, store),
        tuple(_run_order(needed, turns, levels)),
        count_other_versions([stages[key] for key in stages if key in cached], store),
        tuple(replaced),
        find_edited_files(stages.values(), store),
    )


def _check_kinds(fresh: Collection[str], known: Iterable[str]) -> None:
    kinds = [*sorted(known), ALL]
    if unknown := sorted(set(fresh) - set(kinds)):
        raise ConfigError([f"run.fresh: got {name!r}{expected_one_of(name, kinds)}" for name in unknown])


def _kind_counts(
    stages: Mapping[str, AnyStage],
    n_requested: Mapping[str, int],
    cached: set[str],
    computed_by_plan: set[str],
    needed: Mapping[str, AnyStage],
    levels: Mapping[str, int],
) -> tuple[KindCount, ...]:
    """Return the counts of all kinds, ordered from the first inputs to the last results."""
    keys_by_kind: dict[str, list[str]] = defaultdict(list)
    for key, stage in stages.items():
        keys_by_kind[stage.kind].append(key)
    flow = sorted(keys_by_kind, key=lambda kind: max(levels[key] for key in keys_by_kind[kind]))
    return tuple(
        KindCount(
            kind,
            stages[keys_by_kind[kind][0]].title,
            n_requested[kind],
            len(keys_by_kind[kind]),
            sum(key in cached for key in keys_by_kind[kind]),
            sum(key in needed for key in keys_by_kind[kind]),
            sum(key in computed_by_plan for key in keys_by_kind[kind]),
        )
        for kind in flow
    )


def _stages_to_run(targets: Iterable[AnyStage], cached: set[str]) -> dict[str, AnyStage]:
    """Return the stages to compute, by key. Inputs of cached results are left out unless another stage needs them."""
    needed: dict[str, AnyStage] = {}

    def visit(stage: AnyStage) -> None:
        if stage.key not in cached and stage.key not in needed:
            needed[stage.key] = stage
            for input_stage in stage.inputs:
                visit(input_stage)

    for stage in targets:
        visit(stage)
    return needed


def _levels(stages: Iterable[AnyStage]) -> dict[str, int]:
    """Return the depth of each stage: one more than the deepest of its inputs. `stages` come after their inputs."""
    levels: dict[str, int] = {}
    for stage in stages:
        levels[stage.key] = 1 + max((levels[input_stage.key] for input_stage in stage.inputs), default=0)
    return levels


def _run_order(needed: Mapping[str, AnyStage], turns: Mapping[str, int], levels: Mapping[str, int]) -> list[AnyStage]:
    """Return the stages ordered inputs first.

    Among the stages that are ready, those without a model come first, then those with the loaded models, then those
    with other models. Ties go to the first unfinished cell, and then to its deepest stage, so that cells finish one
    after another.
    """
    places = {key: (turns[key], -levels[key], i) for i, key in enumerate(needed)}
    waiting_for = {key: {s.key for s in stage.inputs} & needed.keys() for key, stage in needed.items()}
    followers: dict[str, list[str]] = defaultdict(list)
    for key, inputs in waiting_for.items():
        for input_key in inputs:
            followers[input_key].append(key)
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
        candidates = sorted((models for models in ready if ready[models]), key=lambda models: ready[models][0])
        models = next((models for models in (none, loaded) if ready[models]), candidates[0])
        loaded = models or loaded  # a stage without a model leaves the models in memory
        _, key = heappop(ready[models])
        order.append(needed[key])
        for follower in followers[key]:
            waiting_for[follower].remove(key)
            if not waiting_for[follower]:
                add(follower)
    return order
