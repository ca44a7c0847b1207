"""Topics provided by the user."""

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
from components.testset.topics.tree import list_topics
from components.testset.topics.tree_file import read_leaves


@dataclass(frozen=True)
class GivenTopics:
    """The leaves of the topic tree in the file `path`, or its topics at the level `depth` (OmniEval: 2)."""

    path: str = runtime_only("", "the key contains the file's content")
    depth: int | None = None

    version: ClassVar[int] = 1
    llm: ClassVar[LLM | None] = None
    n_requests: ClassVar[int] = 0

    def check(self) -> list[str]:
        """Return an error message if the file cannot be read as a tree."""
        if problems := too_small(self, depth=1):
            return problems
        try:
            self._read()
        except DataError as error:
            return [f"path: {error}"]
        return []

    def content_hash(self) -> str:
        """Return the SHA-256 (hex) of the file. Raises DataError if it cannot be read."""
        try:
            return hashlib.sha256(Path(self.path).read_bytes()).hexdigest()
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read ({error}), expected a topic tree") from error

    def topics(self, corpus: SourceCorpus, ask: Ask) -> Sequence[Topic]:
        """Return the leaves, in the file's order, without a request. Raises DataError if the file cannot be read."""
        return self._read()

    def _read(self) -> tuple[Topic, ...]:
        return list_topics(read_leaves(Path(self.path)), self.path, self.depth)
