"""No compressor: passages are shown as they are."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class NoCompressor:
    """Passages stay whole, without a separate stage."""

    version: ClassVar[int] = 1
    changes_nothing: ClassVar[bool] = True
