"""No reviser: answers stay as the model gave them."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class NoReviser:
    """Answers stay as they are, without a separate stage."""

    version: ClassVar[int] = 1
    revises_nothing: ClassVar[bool] = True
