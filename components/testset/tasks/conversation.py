"""A conversation about a document. Each turn is a sample, with the earlier turns as its history."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import Kind, Turn
from components.testset.protocols import SourceCorpus
from components.testset.records import Draft, EvidenceSet, WrittenDrafts
from components.testset.tasks.writer_replies import Reply, parse_quotes, select_notes, text_in
from components.testset.tasks.writer_wording import WriterWording
from components.testset.tasks.writing import EVIDENCE, ReplyForm, write_drafts
from components.testset.wording import TEXT, object_schema

_TURN = object_schema(question=TEXT, answer=TEXT, evidence=EVIDENCE, expression=TEXT)


@dataclass(frozen=True)
class Conversation:
    """Writes conversations whose later questions need the earlier turns: see OmniEval, section 3.2 and table 7.

    The history of a turn holds the writer's answers. A reply is an object with "turns", a list of objects with
    "question", "answer", "evidence" and perhaps "expression", or one with "not_applicable". It cannot be read if it has
    fewer than `least_turns`, or if a turn is incomplete. A longer conversation is cut to its first `most_turns`.
    `steps` are as in `Question`.
    """

    llm: LLM
    n_documents: int
    steps: tuple[str, ...]
    wording: WriterWording
    least_turns: int = 2
    most_turns: int = 5
    max_attempts: int = 3

    version: ClassVar[int] = 2
    kind: ClassVar[Kind] = Kind.CONVERSATION
    removes_source: ClassVar[bool] = False

    def check(self) -> list[str]:
        """Return an error message for numbers out of range, or for placeholders missing in the wording."""
        problems = too_small(self, n_documents=1, least_turns=2, most_turns=self.least_turns, max_attempts=1)
        return [*problems, *self.wording.check()]

    @property
    def n_requests(self) -> int:
        """One request for all turns."""
        return 1

    def write(self, name: str, evidence: Sequence[EvidenceSet], corpus: SourceCorpus, ask: Ask) -> WrittenDrafts:
        """Return a draft for each turn of the conversation about an evidence set."""
        form = ReplyForm("turns", {"turns": {"type": "array", "items": _TURN}}, partial(self._read, name))
        return write_drafts(self, form, evidence, corpus, ask)

    def _read(self, name: str, evidence: EvidenceSet, reply: Reply) -> tuple[Draft, ...] | None:
        turns = reply["turns"]
        if not isinstance(turns, list) or len(turns) < self.least_turns:
            return None
        notes = select_notes(reply, self.steps)
        history: tuple[Turn, ...] = ()
        drafts = []
        for number, turn in enumerate(turns[: self.most_turns]):
            question, answer, quotes = text_in(turn, "question"), text_in(turn, "answer"), parse_quotes(turn)
            if not (question and answer and quotes):
                return None
            drafts.append(
                Draft(
                    f"{evidence.id}-{number}", name, evidence.topic, self.kind, evidence, question, (answer,), quotes,
                    history=history, conversation=evidence.id, turn=number,
                    expression=text_in(turn, "expression"), notes=notes,
                )
            )  # fmt: skip
            history = (*history, Turn(question, answer))
        return tuple(drafts)
