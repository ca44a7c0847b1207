"""What a run of making evaluation data is configured by."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from components.prices import Prices
from components.protocols import LLM, Chunker, Source, WordTokenizer
from components.testset.evidence import EvidenceSettings
from components.testset.near_duplicates import NearDuplicates
from components.testset.protocols import DraftGate, Task, TopicSource
from components.testset.topics.voting import TopicVoting
from runner.engine.spending import Budget
from runner.engine.store.bucket.address import address_mistakes


@dataclass(frozen=True)
class WaveSettings:
    """How many documents and evidence sets are looked at in one go: `first`, then `growth` times as many each time, up
    to `largest`. Small ones first, so that a small budget ends with whole samples. At most `most_tries` evidence sets
    are tried for each sample that is wanted of a cell of the matrix, and `max_documents` looked at in all (None: as
    many as there are).
    """

    first: int = 4
    growth: int = 2
    largest: int = 256
    most_tries: int = 4
    max_documents: int | None = None

    def check(self) -> list[str]:
        """Numbers out of range."""
        least = {"first": 1, "growth": 1, "largest": self.first, "most_tries": 1}
        mistakes = [
            f"{name}: got {getattr(self, name)}, expected at least {low}"
            for name, low in least.items()
            if getattr(self, name) < low
        ]
        if self.max_documents is not None and self.max_documents < 1:
            mistakes.append(f"max_documents: got {self.max_documents}, expected at least 1, or null for all")
        return mistakes

    def size(self, wave: int) -> int:
        """Of wave `wave`, from 0."""
        size = self.first
        for _ in range(wave):
            if size >= self.largest or self.growth == 1:
                break
            size *= self.growth
        return min(size, self.largest)


@dataclass(frozen=True)
class TopicSettings:
    """`tree` says which topics there are, `voting` who says to which of them a document belongs: without both, all
    documents are of one topic. Nothing is made of topics with fewer than `min_documents` documents among those seen.
    """

    tree: TopicSource | None = None
    voting: TopicVoting | None = None
    min_documents: int = 1

    def check(self) -> list[str]:
        """One without the other; a number out of range."""
        mistakes = []
        if (self.tree is None) != (self.voting is None):
            mistakes.append("tree, voting: one came without the other; expected both, or topics=none")
        if self.min_documents < 1:
            mistakes.append(f"min_documents: got {self.min_documents}, expected at least 1")
        return mistakes


@dataclass(frozen=True)
class GenerationLanguage:
    """The language of the texts, which chooses the wording of prompts and how words are told apart."""

    name: str


@dataclass(frozen=True)
class GenerationRun:
    """How, not what: none of these changes a sample."""

    store_dir: str
    plan_only: bool = False
    progress: bool = True
    plugins: tuple[str, ...] = ()
    cache_dir: str = "results/cache"

    def check(self) -> list[str]:
        """An address that is that of no bucket."""
        return [f"store_dir: {mistake}" for mistake in address_mistakes(self.store_dir)]


@dataclass(frozen=True)
class GenerationSettings:
    """All of it. `per_cell` samples are wanted of every task and topic; `removable_share` of the documents may be taken
    out of the corpus by tasks whose samples would be none with them, and are used for nothing else.
    """

    out: str
    corpus: Source
    topics: TopicSettings
    tasks: Mapping[str, Task]
    evidence: EvidenceSettings
    gates: Mapping[str, DraftGate]
    near_duplicates: NearDuplicates
    chunk: Chunker
    tokenizer: WordTokenizer
    language: GenerationLanguage
    llm: LLM
    checker: LLM
    prices: Prices
    budget: Budget
    run: GenerationRun
    waves: WaveSettings = WaveSettings()
    per_cell: int = 5
    removable_share: float = 0.1
    seed: int = 0

    def check(self) -> list[str]:
        """What is missing or out of range."""
        mistakes = []
        if not self.out.strip():
            mistakes.append("out: is empty; expected a folder for the set, e.g. out=my_set")
        elif path := getattr(self.corpus, "path", ""):
            mistakes += _within(Path(path).resolve(), {"out": self.out, "run.store_dir": self.run.store_dir})
        if not self.tasks:
            mistakes.append("tasks: got none, expected at least one, e.g. tasks=[extractive]")
        if self.per_cell < 1:
            mistakes.append(f"per_cell: got {self.per_cell}, expected at least 1")
        if not 0 < self.removable_share < 1:
            mistakes.append(f"removable_share: got {self.removable_share:g}, expected a share between 0 and 1")
        for name, budget in vars(self.budget).items():
            if budget is not None and not budget > 0:
                mistakes.append(f"budget.{name}: got {budget}, expected more than 0, or null for no limit")
        return mistakes

    @property
    def share_taken_out(self) -> float:
        """The share of documents that tasks may take out; 0 where no task does."""
        return self.removable_share if any(task.removes_source for task in self.tasks.values()) else 0.0


def _within(corpus: Path, places: Mapping[str, str]) -> list[str]:
    """Places to write to in which the corpus is, or that are in it: what is written would be read by the next run."""
    mistakes = []
    for name, written in places.items():
        place = Path(written).resolve()
        if place.is_relative_to(corpus):
            mistakes.append(f"{name}: {written} is in the corpus, {corpus}; expected a place outside of it")
        elif corpus.is_relative_to(place):
            mistakes.append(f"{name}: the corpus, {corpus}, is in {written}; expected a place beside it")
    return mistakes
