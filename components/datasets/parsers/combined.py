"""Several parsers, each for its kinds of files."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from components.protocols.parsing import FileParser, Parser


@dataclass(frozen=True)
class CombinedParsers:
    """The parsers in `use`, by name. The first that reads an extension reads its files."""

    use: Mapping[str, Parser]

    version: ClassVar[int] = 1

    def __hash__(self) -> int:
        """Hash the names only, because a mapping has no hash."""
        return hash(tuple(self.use))

    def check(self) -> list[str]:
        """Return an error message for an empty `use`."""
        return [] if self.use else ["use: got none, expected at least one parser"]

    @property
    def parts(self) -> tuple[FileParser, ...]:
        """The parsers of files, in order."""
        return tuple(part for parser in self.use.values() for part in parser.parts)
