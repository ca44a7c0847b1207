"""Resources of stages: the settings of the executor, or the defaults of their kinds."""

from collections.abc import Iterator, Mapping

from components.limits import expected_one_of
from runner.engine.stage import AnyStage, Resources, Stage

ResourcesByKind = Mapping[str, Resources]
"""An executor's `resources`: resources by kind of stage, which replace the defaults of the classes."""


def find_resources(stage: AnyStage, by_kind: ResourcesByKind) -> Resources:
    """Return the resources of a stage."""
    return by_kind.get(stage.kind, stage.resources)


def unknown_kinds(by_kind: ResourcesByKind) -> list[str]:
    """Return one error per name that is not a kind of stage."""
    known = set(_kinds_below(Stage)) if by_kind else set()
    return [
        f"resources.{kind}: no stage has this kind{expected_one_of(kind, sorted(known))}"
        for kind in by_kind
        if kind not in known
    ]


def _kinds_below(cls: type) -> Iterator[str]:
    subclass: type
    for subclass in cls.__subclasses__():
        if kind := getattr(subclass, "kind", ""):
            yield kind
        yield from _kinds_below(subclass)
