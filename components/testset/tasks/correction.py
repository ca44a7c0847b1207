"""Correction of a text with one planted error by means of the documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import ClassVar

from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import Evidence, Kind
from components.testset.protocols import SourceCorpus
from components.testset.records import Draft, EvidenceSet, Extract, WrittenDrafts
from components.testset.tasks.writer_replies import Reply, select_notes, text_in
from components.testset.tasks.writer_wording import WriterWording
from components.testset.tasks.writing import ReplyForm, write_drafts
from components.testset.wording import TEXT
from components.text.normalize import ANSWER_FORM_VERSION, answer_form
from components.text.sentences import sentence_ends


@dataclass(frozen=True)
class Correction:
    """CRUD-RAG's correction of hallucinations, section 3.5, with the error at a known place.

    The writer names words of the document and wrong words to replace them. The question is the passage around them with
    the error, of whole sentences and about `n_characters` characters. The reference is the original passage, which is
    also the gold.

    A reply is an object with "words" and "replacement", or one with "not_applicable". It can be read only if the words
    occur in the text exactly once and have at most `most_replaced` characters, and the replacement differs in more than
    punctuation, width or case. The notes name the replaced words, the replacement, and its position in the question.
    """

    llm: LLM
    steps: tuple[str, ...]
    wording: WriterWording
    n_characters: int = 400
    most_replaced: int = 60
    max_attempts: int = 3

    version: ClassVar[int] = 2 + ANSWER_FORM_VERSION
    kind: ClassVar[Kind] = Kind.CORRECTION
    removes_source: ClassVar[bool] = False
    n_documents: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return an error message for numbers out of range, or for placeholders missing in the wording."""
        return [*too_small(self, n_characters=1, most_replaced=1, max_attempts=1), *self.wording.check()]

    @property
    def n_requests(self) -> int:
        """One request per evidence set."""
        return 1

    def write(self, name: str, evidence: Sequence[EvidenceSet], corpus: SourceCorpus, ask: Ask) -> WrittenDrafts:
        """Return at most one draft for each evidence set, with its gold."""
        form = ReplyForm("words", {"words": TEXT, "replacement": TEXT}, partial(self._read, name))
        return write_drafts(self, form, evidence, corpus, ask)

    def _read(self, name: str, evidence: EvidenceSet, reply: Reply) -> tuple[Draft, ...] | None:
        (extract,) = evidence.extracts
        words, replacement = text_in(reply, "words"), text_in(reply, "replacement")
        if not self._is_error(extract.text, words, replacement):
            return None
        position = extract.text.index(words)
        start, end = passage_around(extract, position, position + len(words), self.n_characters)
        right = extract.text[start:end]
        wrong = extract.text[start:position] + replacement + extract.text[position + len(words) : end]
        notes = {"original": words, "replacement": replacement, "error_start": str(position - start)}
        draft = Draft(
            evidence.id, name, evidence.topic, self.kind, evidence, wrong, (right,),
            gold=(Evidence(extract.document_id, extract.start + start, extract.start + end),),
            notes={**select_notes(reply, self.steps), **notes},
        )  # fmt: skip
        return (draft,)

    def _is_error(self, text: str, words: str, replacement: str) -> bool:
        is_short = max(len(words), len(replacement)) <= self.most_replaced
        says_otherwise = answer_form(words) and answer_form(replacement) not in ("", answer_form(words))
        return bool(says_otherwise) and is_short and text.count(words) == 1 and "\n" not in replacement


def passage_around(extract: Extract, start: int, end: int, n_characters: int) -> tuple[int, int]:
    """Return the sentences that contain [start, end) of the extract, with as many sentences after and before as fit.

    The passage has at most `n_characters` if sentences were added, and excludes the whitespace around it.
    """
    sentences = list(pairwise([0, *sentence_ends(extract.text).tolist()]))
    first = next(n for n, (_, own_end) in enumerate(sentences) if own_end > start)
    last = next(n for n, (_, own_end) in enumerate(sentences) if own_end >= end)
    while True:
        after = last + 1 < len(sentences) and sentences[last + 1][1] - sentences[first][0] <= n_characters
        before = first > 0 and sentences[last + after][1] - sentences[first - 1][0] <= n_characters
        if not (after or before):
            break
        first, last = first - before, last + after
    passage = extract.text[sentences[first][0] : sentences[last][1]]
    stripped_start = sentences[first][0] + len(passage) - len(passage.lstrip())
    return stripped_start, stripped_start + len(passage.strip())
