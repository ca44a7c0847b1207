"""The bundled documents by themselves."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import ClassVar

from components.datasets.demo import EXPECTED, packaged, read_demo_documents
from components.datasets.reading import sha256_of_files
from components.records import Documents


@dataclass(frozen=True)
class DemoDocuments:
    """Those of the bundled benchmark, without its questions."""

    version: ClassVar[int] = 1

    def fingerprint(self) -> str:
        """SHA-256 over the file."""
        with ExitStack() as stack:
            return sha256_of_files({"documents.jsonl": packaged("documents.jsonl", stack)}, EXPECTED)

    def read(self) -> tuple[Documents, Mapping[str, int | str]]:
        """All of them."""
        with ExitStack() as stack:
            return read_demo_documents(packaged("documents.jsonl", stack)), {}
