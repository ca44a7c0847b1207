"""Settings of a run that makes evaluation data."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from components.datasets.parsers.built_in import BuiltInReaders
from components.prices import Prices
from components.protocols import LLM, Chunker, Parser, Source, WordTokenizer
from components.testset.evidence import EvidenceSettings
from components.testset.protocols import DraftGate, Task, TopicSource
from components.testset.repeated_questions import NearDuplicateFinder
from components.testset.topics.voting import TopicVoting
from runner.engine.spending import Budget
from runner.engine.store.bucket.address import address_problems


@dataclass(frozen=True)
class WaveSettings:
    """Sizes of waves: `first` documents and evidence sets, then `growth` times as many in each wave, up to `largest`.

    Small waves come first, so that a small budget still yields complete samples. At most `most_tries` evidence sets are
    tried for each requested sample of a matrix field. At most `max_documents` documents are used in all; None for all.
    """

    first: int = 4
    growth: int = 2
    largest: int = 256
    most_tries: int = 4
    max_documents: int | None = None

    def check(self) -> list[str]:
        """Return error messages about numbers out of range."""
        least = {"first": 1, "growth": 1, "largest": self.first, "most_tries": 1}
        problems = [
            f"{name}: got {getattr(self, name)}, expected at least {low}"
            for name, low in least.items()
            if getattr(self, name) < low
        ]
        if self.max_documents is not None and self.max_documents < 1:
            problems.append(f"max_documents: got {self.max_documents}, expected at least 1, or null for all")
        return problems

    def size(self, wave: int) -> int:
        """Return the size of wave `wave`, counted from 0."""
        size = self.first
        for _ in range(wave):
            if size >= self.largest or self.growth == 1:
                break
            size *= self.growth
        return min(size, self.largest)


@dataclass(frozen=True)
class TopicSettings:
    """`tree` supplies the topics, and `voting` assigns documents to them. Without both, all documents have one topic.

    Topics with fewer than `min_documents` documents so far get no samples.
    """

    tree: TopicSource | None = None
    voting: TopicVoting | None = None
    min_documents: int = 1

    def check(self) -> list[str]:
        """Return error messages if one of the two is set without the other, or a number is out of range."""
        problems = []
        if (self.tree is None) != (self.voting is None):
            problems.append("tree, voting: got one without the other, expected both, or topics=none")
        if self.min_documents < 1:
            problems.append(f"min_documents: got {self.min_documents}, expected at least 1")
        return problems


@dataclass(frozen=True)
class GenerationLanguage:
    """The language of the texts. It determines the wording of prompts and the splitting into words."""

    name: str


@dataclass(frozen=True)
class GenerationRun:
    """Settings that change no sample, only how a run proceeds."""

    store_dir: str
    plan_only: bool = False
    progress: bool = True
    plugins: tuple[str, ...] = ()
    cache_dir: str = "results/cache"

    def check(self) -> list[str]:
        """Return error messages about a store address that is not a valid bucket."""
        return [f"store_dir: {problem}" for problem in address_problems(self.store_dir)]


@dataclass(frozen=True)
class GenerationSettings:
    """All settings. `per_cell` samples are requested of every task and topic.

    `removable_share` of the documents are reserved for tasks that remove their source from the corpus, because the
    answer must not be found there. Other tasks do not use them.
    """

    out: str
    corpus: Source
    topics: TopicSettings
    tasks: Mapping[str, Task]
    evidence: EvidenceSettings
    gates: Mapping[str, DraftGate]
    near_duplicates: NearDuplicateFinder
    chunk: Chunker
    tokenizer: WordTokenizer
    language: GenerationLanguage
    llm: LLM
    checker: LLM
    prices: Prices
    budget: Budget
    run: GenerationRun
    parser: Parser = BuiltInReaders()
    waves: WaveSettings = WaveSettings()
    per_cell: int = 5
    removable_share: float = 0.1
    seed: int = 0

    def check(self) -> list[str]:
        """Return error messages about missing values and values out of range."""
        problems = []
        if not self.out.strip():
            problems.append("out: is empty, expected a folder for the set, e.g. out=my_set")
        elif path := getattr(self.corpus, "path", ""):
            problems += _overlaps(Path(path).resolve(), {"out": self.out, "run.store_dir": self.run.store_dir})
        if not self.tasks:
            problems.append("tasks: got none, expected at least one, e.g. tasks=[extractive]")
        if self.per_cell < 1:
            problems.append(f"per_cell: got {self.per_cell}, expected at least 1")
        if not 0 < self.removable_share < 1:
            problems.append(f"removable_share: got {self.removable_share:g}, expected a share in (0, 1)")
        for name, budget in vars(self.budget).items():
            if budget is not None and not budget > 0:
                problems.append(f"budget.{name}: got {budget}, expected more than 0, or null for no limit")
        return problems

    @property
    def effective_removable_share(self) -> float:
        """The share of documents that tasks may remove; 0 if no task removes its source."""
        return self.removable_share if any(task.removes_source for task in self.tasks.values()) else 0.0


def _overlaps(corpus: Path, paths: Mapping[str, str]) -> list[str]:
    """Return error messages about output folders that contain the corpus or are inside it. The next run would read the
    output as documents.
    """
    problems = []
    for name, written in paths.items():
        folder = Path(written).resolve()
        if folder.is_relative_to(corpus):
            problems.append(f"{name}: {written} is in the corpus, {corpus}, expected a folder outside it")
        elif corpus.is_relative_to(folder):
            problems.append(f"{name}: the corpus, {corpus}, is in {written}, expected a folder beside it")
    return problems
