"""Topics that a user gives."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from components.errors import DataError
from components.fields import runtime_only
from components.limits import too_small
from components.protocols import LLM, Ask
from components.testset.protocols import SourceCorpus
from components.testset.records import Topic
from components.testset.topics.tree import topics_of
from components.testset.topics.tree_file import read_leaves


@dataclass(frozen=True)
class GivenTopics:
    """The leaves of the topic tree in the file `path`; with `depth`, its topics at that level (OmniEval: 2)."""

    path: str = runtime_only("", "what is in it stands in the key")
    depth: int | None = None

    version: ClassVar[int] = 1
    llm: ClassVar[LLM | None] = None
    n_requests: ClassVar[int] = 0

    def check(self) -> list[str]:
        """A file that cannot be read as a tree, with the mistake in it."""
        if mistakes := too_small(self, depth=1):
            return mistakes
        try:
            self._read()
        except DataError as error:
            return [f"path: {error}"]
        return []

    def content_hash(self) -> str:
        """SHA-256 (hex) of the file. Raises DataError if it cannot be read."""
        try:
            return hashlib.sha256(Path(self.path).read_bytes()).hexdigest()
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read: {error}; expected a topic tree") from error

    def topics(self, corpus: SourceCorpus, ask: Ask) -> Sequence[Topic]:
        """The leaves, in the file's order. Nobody is asked. Raises DataError."""
        return self._read()

    def _read(self) -> tuple[Topic, ...]:
        return topics_of(read_leaves(Path(self.path)), self.path, self.depth)
