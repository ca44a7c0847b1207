"""A run with small components: a corpus in memory, a task with one request, gates that look for marks in documents."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from components.asking.prompt_parts import chat_messages
from components.chunkers.sentence import SentencePacking
from components.prices import NO_PRICES
from components.protocols import LLM, AnswersFrom, Ask
from components.records import Answer, AnswerState, Documents, Evidence, Kind, Request, Sample
from components.testset.evidence import EvidenceSettings
from components.testset.protocols import SourceCorpus
from components.testset.records import (
    PASSED,
    Draft,
    EvidenceSet,
    GateVerdict,
    NoDraftReason,
    UndraftedEvidence,
    VerdictState,
    WrittenDrafts,
)
from components.testset.repeated_questions import NearDuplicateFinder
from components.tokenizers.english_stems import EnglishStems
from runner.engine.spending import Budget
from runner.testset.making.draft_outcomes import EvidenceOutcome
from runner.testset.making.generation_loop import Announce, GenerationLoop, GenerationState
from runner.testset.making.generation_settings import (
    GenerationLanguage,
    GenerationRun,
    GenerationSettings,
    TopicSettings,
    WaveSettings,
)

ASKED: list[str] = []
"""The prompts that came to any model of this process."""

DOWN: set[str] = set()
"""Words that make a request fail."""


@dataclass(frozen=True)
class Echo:
    """Replies with the prompt."""

    model: str = "echo"
    max_new_tokens: int = 10

    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            prompt = request.messages[-1].content
            ASKED.append(prompt)
            if any(word in prompt for word in DOWN):
                yield Answer(request.id, AnswerState.ERROR, error="down")
            else:
                yield Answer(request.id, AnswerState.OK, prompt)


def _ask_about(ask: Ask, prompt: str) -> Answer:
    about = Sample(prompt, "", Kind.QA, "", ())
    return ask([Request(prompt, chat_messages("", prompt), about, ())])[0]


@dataclass(frozen=True)
class AskOnce:
    """The question is the first sentence. Documents with DECLINE are declined."""

    llm: LLM = field(default_factory=Echo)
    removes_source: bool = False
    n_turns: int = 1

    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = Kind.QA
    n_documents: ClassVar[int] = 1
    n_requests: ClassVar[int] = 1

    def write(self, name: str, evidence: Sequence[EvidenceSet], corpus: SourceCorpus, ask: Ask) -> WrittenDrafts:
        drafts: list[Draft] = []
        refused = []
        for own in evidence:
            extract = own.extracts[0]
            said = _ask_about(ask, f"{name}: {extract.text}")
            if said.state is AnswerState.ERROR:
                refused.append(UndraftedEvidence(own, NoDraftReason.FAILED, said.error))
            elif "DECLINE" in extract.text:
                refused.append(UndraftedEvidence(own, NoDraftReason.DECLINED, "told to"))
            else:
                gold = (Evidence(extract.document_id, extract.start, extract.end),)
                first = Draft(own.id, name, own.topic, Kind.QA, own, extract.text, (extract.document_id,), gold=gold)
                if self.removes_source:
                    first = replace(first, gold=(), removed=(extract.document_id,))
                turns = [
                    replace(first, id=f"{own.id}-{n}", turn=n, conversation=own.id, question=f"{n}. {first.question}")
                    for n in range(self.n_turns)
                ]
                drafts += turns if self.n_turns > 1 else [first]
        return WrittenDrafts(tuple(drafts), tuple(refused))


@dataclass(frozen=True)
class Marks:
    """Rejects drafts that hold a mark, with the mark as the reason; with `corrects` it puts one without it there, and
    with `turn` it looks at that turn alone. Asks its model about each.
    """

    mark: str
    llm: LLM | None = None
    corrects: bool = False
    turn: int | None = None

    version: ClassVar[int] = 1
    tags: ClassVar[bool] = False

    @property
    def n_requests(self) -> int:
        return 1 if self.llm else 0

    def applies_to(self, draft: Draft) -> bool:
        return self.turn is None or draft.turn == self.turn

    def verdicts(self, drafts: Sequence[Draft], corpus: SourceCorpus, ask: Ask) -> list[GateVerdict]:
        return [self._verdict(draft, ask) for draft in drafts]

    def _verdict(self, draft: Draft, ask: Ask) -> GateVerdict:
        if self.llm and _ask_about(ask, f"{self.mark}? {draft.question}").state is AnswerState.ERROR:
            return GateVerdict(VerdictState.FAILED, detail="down")
        if self.mark not in draft.question:
            return PASSED
        if self.corrects and not draft.was_corrected:
            question = draft.question.replace(self.mark, "corrected")
            return GateVerdict(VerdictState.CORRECTED, draft=replace(draft, question=question, was_corrected=True))
        return GateVerdict(VerdictState.REJECTED, self.mark.lower(), "it is there")


@dataclass(frozen=True)
class InMemory:
    """Documents by id."""

    texts: tuple[tuple[str, str], ...]

    version: ClassVar[int] = 1

    def fingerprint(self) -> str:
        return str(hash(self.texts))

    def read(self) -> tuple[Documents, Mapping[str, int | str]]:
        ids = [document_id for document_id, _ in self.texts]
        return Documents(ids, ["" for _ in ids], [text for _, text in self.texts]), {}


def texts(n: int, marks: Mapping[int, str] | None = None) -> tuple[tuple[str, str], ...]:
    """Return `n` documents, each about its number. Some contain a mark."""
    return tuple(
        (
            f"d{number:03}",
            f"Company {number} sold {number * 7919} lamps in its {number}th year {(marks or {}).get(number, '')}.",
        )
        for number in range(n)
    )


def generation(folder: Path, documents: tuple[tuple[str, str], ...], **changes: Any) -> GenerationSettings:
    """Settings for a run in a folder."""
    return replace(
        GenerationSettings(
            out=str(folder / "set"),
            corpus=InMemory(documents),
            topics=TopicSettings(),
            tasks={"lamps": AskOnce()},
            evidence=EvidenceSettings(least_characters=10),
            gates={},
            near_duplicates=NearDuplicateFinder(),
            chunk=SentencePacking(),
            tokenizer=EnglishStems(),
            language=GenerationLanguage("en"),
            llm=Echo(),
            checker=Echo(),
            prices=NO_PRICES,
            budget=Budget(),
            run=GenerationRun(str(folder / "store")),
            waves=WaveSettings(first=2, largest=8),
        ),
        **changes,
    )


class Silent:
    """Reports nothing."""

    def stage(self, title: str, done: int, total: int) -> None:
        pass

    def wave(self, state: GenerationState, tried: Sequence[EvidenceOutcome]) -> None:
        pass


def make(settings: GenerationSettings, announce: Announce | None = None) -> GenerationState:
    """Build a complete run."""
    with closing(GenerationLoop(settings, announce or Silent())) as making:
        state = making.begin()
        making.run(state)
    return state


def most(n: int) -> Budget:
    """A budget of requests."""
    return Budget(max_requests=n)
