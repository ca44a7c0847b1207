"""Stages that add numbers: small, quick, and countable. At module level, so that worker processes can load them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from components.errors import ComponentError
from components.fields import runtime_only
from runner.engine.stage import Inputs, Output, Stage


@dataclass(frozen=True)
class Adder:
    """Adds `amount` to the sum of its inputs, and notes each call in the file `calls` unless that is ""."""

    amount: int = 1
    model: str = ""
    calls: str = runtime_only("", "a note on the side changes no sum")

    version: ClassVar[int] = 1


@dataclass(frozen=True)
class NewerAdder(Adder):
    """The same fields with another version."""

    version: ClassVar[int] = 2


def decode_number(parts: dict[str, Any]) -> int:
    return int(parts["number"])


def add(stage: Stage, inputs: Inputs) -> Output:
    total = stage.component.amount + sum(inputs.read(name, decode_number) for name in stage.inputs)
    if stage.component.calls:
        with Path(stage.component.calls).open("a", encoding="utf-8") as file:
            file.write(f"{stage.kind}\n")
    return Output({"number": total})


def add_some(stage: Stage, inputs: Inputs) -> Output:
    """As `add`, but says that a part of it failed."""
    return Output(add(stage, inputs).payload, partial=True)


def fail(stage: Stage, inputs: Inputs) -> Output:
    raise ComponentError(f"Adder: {stage.component.amount} is not to be added")


def return_nonsense(stage: Stage, inputs: Inputs) -> Output:
    """A result that no file can hold."""
    return Output({"number": float("nan")})


def interrupt(stage: Stage, inputs: Inputs) -> Output:
    raise KeyboardInterrupt
