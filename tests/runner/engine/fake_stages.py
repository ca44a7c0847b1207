"""Stages that add numbers: small, quick, and countable. At module level, so that worker processes can load them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tiny_components import Adder

from components.errors import ComponentError
from components.fields import added_later, runtime_only
from components.llms.scripted import Scripted
from components.records import Kind, Message, Request, Sample
from runner.engine.codecs import SinglePart
from runner.engine.stage import Stage, StageGroup
from runner.engine.stage_run import Run


@dataclass(frozen=True)
class Pair(StageGroup):
    """Two stages that are read together."""

    one: Stage[int]
    other: Stage[int]
    depth: int = 1
    margin: int = added_later(0)


def request(text: str, sample_id: str = "s") -> Request:
    """Return the request that the asking stages send to a scripted model."""
    return Request(sample_id, (Message("user", text),), Sample(sample_id, "qa", Kind.QA, text, ()), ())


def add(stage: "Sum", run: Run) -> int:
    total = stage.component.amount + sum(run.read(other) for other in stage.inputs)  # type: ignore[misc]  # all are sums
    if stage.component.calls:
        with Path(stage.component.calls).open("a", encoding="utf-8") as file:
            file.write(f"{stage.kind}\n")
    return total


def add_some(stage: "Sum", run: Run) -> int:
    """Add as `add` does, but one request fails."""
    run.ask(Scripted(error_on="fail"), "answers")([request("fail")])
    return add(stage, run)


def fail(stage: "Sum", run: Run) -> int:
    raise ComponentError(f"Adder: {stage.component.amount} is not to be added")


def return_nonsense(stage: "Sum", run: Run) -> float:
    """Return a result that cannot be written to a file."""
    return float("nan")


def interrupt(stage: "Sum", run: Run) -> int:
    raise KeyboardInterrupt


class Sum(Stage[int], kind="sum", version=1):
    """The sum of the component's amount and the results of other stages."""

    codec = SinglePart("number")

    component: Adder | None = Adder()
    others: Mapping[str, Stage[int]] = field(default_factory=dict)
    pair: Pair | None = None
    row: tuple[Stage[int], ...] = ()
    depth: int = 3
    compute: Callable[["Sum", Run], int] = runtime_only(add, "one stage ends in several ways here")

    def make(self, run: Run) -> int:
        return self.compute(self, run)


class NewerSum(Sum, version=2): ...


class Source(Sum, kind="source"): ...


class Left(Sum, kind="left"): ...


class Right(Sum, kind="right"): ...


class Top(Sum, kind="top"): ...


class Passed(Stage[int], kind="passed", version=1):
    """A result known by its content, wherever it came from."""

    codec = SinglePart("number")

    content: str
    source: Stage[int] = runtime_only(None, "the content stands for it")

    def make(self, run: Run) -> int:
        return run.read(self.source)
