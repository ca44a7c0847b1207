"""Queries with the earlier turns of a conversation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.records import Sample


@dataclass(frozen=True)
class ConversationHistory:
    """Puts the questions of the last `n_turns` turns (None: all) before the question.

    A question such as "and the year after?" finds nothing by itself. Earlier answers are left out unless `with_answers`
    is set: they are the references of their turns, which a real system would not have.
    """

    n_turns: int | None = 2
    with_answers: bool = False

    version: ClassVar[int] = 1
    gives_one_query: ClassVar[bool] = True

    def check(self) -> list[str]:
        """Return an error message for a number of turns below 1."""
        if self.n_turns is None or self.n_turns >= 1:
            return []
        return [f"n_turns: got {self.n_turns}, expected at least 1 (for none, use expander=none), or null for all"]

    @property
    def variants(self) -> "tuple[ConversationHistory]":
        """The expander itself, its only variant."""
        return (self,)

    def expand(self, samples: Sequence[Sample]) -> list[Sequence[str]]:
        """Return one query per sample; samples without a history keep their question."""
        return [(self._expand(sample),) for sample in samples]

    def _expand(self, sample: Sample) -> str:
        parts = []
        for turn in sample.history[-(self.n_turns or 0) :]:  # [-0:] selects all turns
            parts.append(turn.question)
            if self.with_answers:
                parts.append(turn.answer)
        return "\n".join([*parts, sample.query or sample.question])
