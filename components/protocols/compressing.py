"""Compressors: components that shorten the passages of a prompt."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from components.protocols.component import Component
from components.protocols.language_models import LLM, Ask
from components.records import CompressedPassages


@runtime_checkable
class Compressor(Component, Protocol):
    """A component that retains parts of passages. It adds no text, so the evidence in a prompt can be measured."""

    def compress(self, queries: Sequence[str], passages: Sequence[Sequence[str]]) -> list[CompressedPassages]:
        """Return one CompressedPassages per query. `passages` are the texts of its passages, in prompt order."""


@runtime_checkable
class AskingCompressor(Component, Protocol):
    """A compressor with a language model: one request per query with passages that are not blank."""

    @property
    def llm(self) -> LLM:
        """The language model of its requests."""

    def compress_by_asking(
        self, queries: Sequence[str], passages: Sequence[Sequence[str]], ask: Ask
    ) -> list[CompressedPassages]:
        """Return one CompressedPassages per query.

        It reports a reply that cannot be parsed after a retry, and a request that failed permanently. Neither removes
        any text.
        """


@runtime_checkable
class UnchangedPassages(Component, Protocol):
    """The absence of a compressor: it adds no stage to a cell."""

    @property
    def changes_nothing(self) -> bool:
        """Always True."""


AnyCompressor = Compressor | AskingCompressor | UnchangedPassages
"""Every kind of compressor that a cell can have."""
