"""The topics of the bundled documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import ClassVar

from components.protocols import LLM, Ask
from components.testset.protocols import SourceCorpus
from components.testset.records import Topic
from components.testset.topics.given import GivenTopics


@dataclass(frozen=True)
class DemoTopics:
    """The leaves of the bundled topic tree."""

    version: ClassVar[int] = 1
    llm: ClassVar[LLM | None] = None
    n_requests: ClassVar[int] = 0

    def content_hash(self) -> str:
        """Return the SHA-256 (hex) of the file."""
        with as_file(_TREE) as path:
            return GivenTopics(str(path)).content_hash()

    def topics(self, corpus: SourceCorpus, ask: Ask) -> Sequence[Topic]:
        """Return the leaves, in the file's order, without a request."""
        with as_file(_TREE) as path:
            return GivenTopics(str(path)).topics(corpus, ask)


_TREE = files("components.datasets") / "demo_data" / "topics.yaml"
