"""The data set of an exported pipeline, which is not part of it."""

from dataclasses import dataclass
from typing import ClassVar

from components.errors import DataError
from components.records import Benchmark


@dataclass(frozen=True)
class LeftBehind:
    """Stands for a data set whose documents, or solved examples, came along as kept stages: nothing is loaded."""

    name: str

    version: ClassVar[int] = 1

    def fingerprint(self) -> str:
        """That of nothing."""
        return ""

    def load(self) -> Benchmark:
        """Raises DataError."""
        raise DataError(f"the data set {self.name} is not part of an exported pipeline")
