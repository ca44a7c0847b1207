"""The built-in readers: Beautiful Soup for HTML, and pypdf for PDF."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class BuiltInReaders:
    """The readers of `components.datasets.document_files` read all files. They read no Office files."""

    version: ClassVar[int] = 1

    @property
    def parts(self) -> tuple[()]:
        """An empty tuple: no file has another parser."""
        return ()
