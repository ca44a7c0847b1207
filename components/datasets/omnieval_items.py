"""OmniEval's evaluation items: <level 1 topic>/<level 2 topic>/<task>.jsonl, one item or one conversation per line.

Source: Wang et al. 2024, "OmniEval: An Omnidirectional and Automatic RAG Evaluation Benchmark in Financial Domain", and
its code (RUC-NLPIR/OmniEval). Topics and tasks are the names of folders and files, whatever they are.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from components.datasets.json_fields import Record, as_record, optional_texts, required_text, required_texts
from components.datasets.labels import FINANCE_LABELS, slug_of_task, slugs_of_topics
from components.datasets.omnieval_gold import locate_gold
from components.datasets.reading import read_jsonl, require_folder
from components.errors import DataError
from components.records import Kind, Sample, Turn

EXPECTED = "OmniEval's items, JSON Lines files <level 1 topic>/<level 2 topic>/<task>.jsonl"

_KINDS = {"conversational": Kind.CONVERSATION, "long_form": Kind.LONG_FORM}


@dataclass(frozen=True)
class OmniEvalItems:
    """All samples in the order of files and lines, labels of their topics and tasks, and counts for the notes."""

    samples: Sequence[Sample]
    labels: Mapping[str, str]
    counts: Mapping[str, int]


def item_files(folder: Path) -> list[Path]:
    """The files of items under a folder, sorted. Raises DataError if there are none."""
    files = sorted(require_folder(folder, EXPECTED).glob("*/*/*.jsonl"))
    if not files:
        raise DataError(f"{folder}: no file <topic>/<subtopic>/<task>.jsonl lies in it. Expected here: {EXPECTED}.")
    return files


def read_items(folder: Path, texts: Mapping[str, str]) -> OmniEvalItems:
    """Reads all items under a folder; gold is located in `texts` (document id -> text). Raises DataError."""
    files = item_files(folder)
    topics = slugs_of_topics((file.parent.parent.name, file.parent.name) for file in files)
    samples: list[Sample] = []
    labels = dict(FINANCE_LABELS)
    counts = Counter(n_empty_conversations=0, n_gold_passages_not_found=0, n_evaluations_unusable=0)
    for file in files:
        topic, topic_label = topics[file.parent.parent.name, file.parent.name]
        task, task_label = slug_of_task(file.stem)
        labels |= {topic: topic_label, task: task_label}
        reader = _FileReader(file, topic, task, texts)
        samples += reader.samples()
        counts.update(reader.counts)
    return OmniEvalItems(samples, labels, dict(counts))


@dataclass
class _FileReader:
    """Reads one file; `counts` grows while `samples` is read."""

    file: Path
    topic: str
    task: str
    texts: Mapping[str, str]
    counts: Counter[str] = field(default_factory=Counter)

    def samples(self) -> Iterator[Sample]:
        """The samples of all lines. As in OmniEval's code, an item's number is that of its line, from 0."""
        for line, value in read_jsonl(self.file, EXPECTED):
            item_id, where = f"{self.topic}/{self.task}/{line - 1}", f"{self.file}, line {line}"
            if isinstance(value, list):
                yield from self._conversation(value, item_id, where)
            else:
                yield self._sample(as_record(value, where), item_id, where)

    def _conversation(self, turns: Sequence[object], item_id: str, where: str) -> Iterator[Sample]:
        self.counts["n_empty_conversations"] += not turns
        history: tuple[Turn, ...] = ()
        for number, turn in enumerate(turns):
            there = f"{where}, turn {number}"
            sample = self._sample(as_record(turn, there), f"{item_id}#{number}", there, history, Kind.CONVERSATION)
            yield sample
            history += (Turn(sample.question, sample.references[0]),)

    def _sample(
        self, record: Record, sample_id: str, where: str, history: tuple[Turn, ...] = (), kind: Kind | None = None
    ) -> Sample:
        nodes = optional_texts(record, "relevant_node", where)
        gold = locate_gold(nodes, optional_texts(record, "relevant_passage", where), self.texts)
        self.counts["n_gold_passages_not_found"] += gold.n_passages_not_found
        self.counts["n_evaluations_unusable"] += record.get("evaluation") == -1
        return Sample(
            id=sample_id,
            subset="finance",
            kind=kind or _KINDS.get(self.task, Kind.QA),
            question=required_text(record, "question", where),
            references=required_texts(record, "answer", where),
            gold=gold.units,
            topic=self.topic,
            task=self.task,
            history=history,
        )
