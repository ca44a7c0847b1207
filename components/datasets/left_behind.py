"""A placeholder for the data set of an exported pipeline, which does not include the data set."""

from dataclasses import dataclass
from typing import ClassVar

from components.errors import DataError
from components.records import Benchmark


@dataclass(frozen=True)
class LeftBehind:
    """Placeholder for a data set whose documents or solved examples were exported as stored results of stages."""

    name: str

    version: ClassVar[int] = 1

    def fingerprint(self) -> str:
        """Return "", because there is nothing to load."""
        return ""

    def load(self) -> Benchmark:
        """Raise DataError: nothing can be loaded."""
        raise DataError(f"the data set {self.name} is not part of an exported pipeline")
