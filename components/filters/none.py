"""No filter: every document is allowed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from components.records import AllowedDocuments, Documents, Sample


@dataclass(frozen=True)
class NoFilter:
    """No restriction: every sample may find every document, and there is no filter stage."""

    version: ClassVar[int] = 1
    is_open: ClassVar[bool] = True

    def allow(self, samples: Sequence[Sample], documents: Documents) -> AllowedDocuments:
        """Return one group of all samples, which allows all documents."""
        everything = np.arange(len(documents), dtype=np.int32)
        return AllowedDocuments(
            np.zeros(len(samples), dtype=np.int32), np.array([0, len(documents)], dtype=np.int64), everything
        )
