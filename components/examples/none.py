"""No examples: prompts without solved samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from components.records import Documents, Sample


@dataclass(frozen=True)
class NoExamples:
    """Prompts show only the question."""

    version: ClassVar[int] = 1
    n: ClassVar[int] = 0
    max_tokens: ClassVar[int] = 0
    dataset: ClassVar[None] = None

    def choose(self, samples: Sequence[Sample], pool: Sequence[Sample], documents: Documents) -> NDArray[np.int32]:
        """Return no examples for each sample."""
        return np.zeros((len(samples), 0), dtype=np.int32)
