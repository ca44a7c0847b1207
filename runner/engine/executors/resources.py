"""What stages occupy while they run: as their kind says, or as the user's settings of an executor do."""

import difflib
from collections.abc import Iterator, Mapping

from runner.engine.stage import AnyStage, Resources, Stage

ByKind = Mapping[str, Resources]
"""An executor's `resources`: those of kinds of stages, in place of what their classes say."""


def resources_of(stage: AnyStage, by_kind: ByKind) -> Resources:
    """What a stage occupies."""
    return by_kind.get(stage.kind, stage.resources)


def unknown_kinds(by_kind: ByKind) -> list[str]:
    """Mistakes: names that no kind of stage has."""
    known = set(_kinds_below(Stage)) if by_kind else set()
    return [_unknown(kind, known) for kind in by_kind if kind not in known]


def _unknown(kind: str, known: set[str]) -> str:
    near = difflib.get_close_matches(kind, sorted(known), n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(sorted(known))}"
    return f"resources.{kind}: no stage is of this kind; {hint}"


def _kinds_below(cls: type) -> Iterator[str]:
    below: type
    for below in cls.__subclasses__():
        if kind := getattr(below, "kind", ""):
            yield kind
        yield from _kinds_below(below)
