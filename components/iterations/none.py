"""No iteration: each question is searched once."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class OneSearch:
    """Questions are searched once, without a separate stage."""

    version: ClassVar[int] = 1
    searches_once: ClassVar[bool] = True
