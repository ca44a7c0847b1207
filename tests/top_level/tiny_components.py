"""Components of the stages that tests run on executors."""

from dataclasses import dataclass
from typing import ClassVar

from components.fields import runtime_only
from components.llms.scripted import Scripted


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


@dataclass(frozen=True)
class Paid(Scripted):
    """Counts towards budgets, as models that cost money do."""

    is_stand_in: ClassVar[bool] = False
