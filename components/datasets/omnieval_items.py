"""OmniEval's evaluation items: JSON Lines. A line with a list is a conversation.

Generated items are in <level 1 topic>/<level 2 topic>/<task>.jsonl. Human-annotated items are in one flat file,
where each item names its topic and task. Topics and tasks may have any name.
Source: Wang et al. 2024, "OmniEval: An Omnidirectional and Automatic RAG Evaluation Benchmark in Financial Domain", and
its code (RUC-NLPIR/OmniEval).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from components.datasets.data_files import abbreviate_names, check_path, read_jsonl, require_inside, visible_entries
from components.datasets.json_fields import (
    Record,
    as_record,
    optional_number,
    optional_text,
    optional_texts,
    required_text,
    required_texts,
)
from components.datasets.labels import FINANCE_LABELS, slug_of_task, topic_slugs
from components.datasets.omnieval_gold import locate_gold
from components.errors import DataError
from components.records import Kind, Sample, Turn

EXPECTED = "OmniEval's items, JSON Lines files <level 1 topic>/<level 2 topic>/<task>.jsonl"
EXPECTED_FLAT = "OmniEval's human-annotated items, JSON Lines with topic_name and task_name"

_KINDS = {"conversational": Kind.CONVERSATION, "long_form": Kind.LONG_FORM}


@dataclass(frozen=True)
class OmniEvalItems:
    """All samples in the order of files and lines, labels of topics and tasks, and counts for the notes."""

    samples: Sequence[Sample]
    labels: Mapping[str, str]
    counts: Mapping[str, int]


def item_files(folder: Path, root: Path) -> list[Path]:
    """Return the item files under a folder of the data set in `root`, sorted. Hidden files are left out.

    Raises DataError for a folder without item files, for a topic without them, for other files under it, and for links
    out of `root`.
    """
    topics, beside_topics = _folders_and_files([folder])
    subtopics, beside_subtopics = _folders_and_files(topics)
    deeper, files = _folders_and_files(subtopics)
    filled = {parent for entry in (*files, *deeper, *beside_subtopics) for parent in entry.parents}
    if empty := sorted(each for each in [*topics, *subtopics] if each not in filled):
        names = abbreviate_names([path.relative_to(folder).as_posix() for path in empty])
        raise DataError(
            f"{folder}: contains no items in {names}, expected {EXPECTED}. Fetch these folders again, or remove them."
        )
    misnamed = [file for file in files if file.suffix != ".jsonl"]
    if unexpected := sorted([*beside_topics, *beside_subtopics, *deeper, *misnamed]):
        names = abbreviate_names([path.relative_to(folder).as_posix() for path in unexpected])
        raise DataError(
            f"{folder}: contains files or folders that are not <topic>/<subtopic>/<task>.jsonl: {names}, expected "
            f"{EXPECTED}, and nothing else. Decompress, rename or move these, or remove them."
        )
    if not files:
        raise DataError(f"{folder}: contains no file <topic>/<subtopic>/<task>.jsonl, expected {EXPECTED}")
    return [require_inside(file, [root, folder], EXPECTED) for file in sorted(files)]


def _folders_and_files(parents: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return the folders in folders, and the files and broken links in them."""
    folders: list[Path] = []
    files: list[Path] = []
    for entry in (entry for parent in parents for entry in visible_entries(parent, EXPECTED)):
        (folders if check_path(entry, Path.is_dir, EXPECTED) else files).append(entry)
    return folders, files


def read_items(folder: Path, root: Path, texts: Mapping[str, str]) -> OmniEvalItems:
    """Read all items under a folder of the data set in `root`. Gold is located in `texts` (document id -> text).

    Raises DataError for files that `item_files` refuses, for a file without items, and if an item has errors.
    """
    files = item_files(folder, root)
    topics = topic_slugs((file.parent.parent.name, file.parent.name) for file in files)
    reader = _Reader(texts)
    samples: list[Sample] = []
    labels = dict(FINANCE_LABELS)
    for file in files:
        topic, topic_label = topics[file.parent.parent.name, file.parent.name]
        task, task_label = slug_of_task(file.stem)
        labels |= {topic: topic_label, task: task_label}
        items = list(read_jsonl(file, EXPECTED))
        if not items:
            raise DataError(f"{file}: contains no item, expected {EXPECTED}. Fetch the file again, or remove it.")
        for line, value in items:
            # The number of an item is its line from 0, as in OmniEval's code.
            samples += reader.samples(value, _Place(f"{file}, line {line}", line - 1, topic, task))
    return OmniEvalItems(samples, labels, dict(reader.counts))


def read_flat_items(file: Path, texts: Mapping[str, str]) -> OmniEvalItems:
    """Read a flat file, in which items have a `topic_name` ("金融 - 银行业务 - 零售银行") and a `task_name`.

    The first turn names the topic and task of a conversation. Items without a topic or a task are not in the matrix,
    and are counted. Raises DataError for errors in the file.
    """
    lines = list(read_jsonl(file, EXPECTED_FLAT))
    named = [_first_record(value, f"{file}, line {line}") for line, value in lines]
    paths = [_topic_path(record, f"{file}, line {line}") for record, (line, _) in zip(named, lines, strict=True)]
    topics = topic_slugs(path for path in paths if path)
    reader = _Reader(texts)
    samples: list[Sample] = []
    labels = dict(FINANCE_LABELS)
    for (line, value), record, path in zip(lines, named, paths, strict=True):
        location = f"{file}, line {line}"
        topic, topic_label = topics[path] if path else (None, "")
        name = optional_text(record, "task_name", location).strip()
        task, task_label = slug_of_task(name) if name else (None, "")
        labels |= {slug: label for slug, label in ((topic, topic_label), (task, task_label)) if slug}
        reader.counts["n_items_without_topic_or_task"] += not (topic and task)
        samples += reader.samples(value, _Place(location, line - 1, topic, task))
    return OmniEvalItems(samples, labels, dict(reader.counts))


def _first_record(value: object, location: str) -> Record:
    """Return the item, or the first turn of a conversation; {} for an empty conversation."""
    if isinstance(value, list):
        return as_record(value[0], location) if value else {}
    return as_record(value, location)


def _topic_path(record: Record, location: str) -> tuple[str, str] | None:
    """Return the last two levels of a topic's name. A single level is used for both."""
    levels = [part.strip() for part in optional_text(record, "topic_name", location).split(" - ") if part.strip()]
    return (levels[-2] if len(levels) > 1 else levels[-1], levels[-1]) if levels else None


class _Place(NamedTuple):
    """The position of an item in the files (`location`, and its line from 0) and in the matrix."""

    location: str
    number: int
    topic: str | None
    task: str | None

    @property
    def item_id(self) -> str:
        return f"{self.topic or 'no_topic'}/{self.task or 'no_task'}/{self.number}"


@dataclass
class _Reader:
    """Converter of items into samples. It counts the items that it leaves out or that lack gold."""

    texts: Mapping[str, str]
    counts: Counter[str] = field(
        default_factory=lambda: Counter(
            n_empty_conversations=0,
            n_gold_passages_missing=0,
            n_gold_passages_not_found=0,
            n_evaluations_unusable=0,
            n_items_rejected=0,
        )
    )

    def samples(self, value: object, place: _Place) -> Iterator[Sample]:
        """Yield the sample of an item, or a sample per turn of a conversation.

        Items that OmniEval's quality inspection rejected (`evaluation` 0) are left out and counted, but stay in the
        history of later turns. Items that it could not judge (-1) are kept and counted.
        """
        if isinstance(value, list):
            yield from self._conversation(value, place)
        elif not self._is_rejected(as_record(value, place.location), place.location):
            yield self._sample(as_record(value, place.location), place.item_id, place, place.location)

    def _is_rejected(self, record: Record, location: str) -> bool:
        rejected = optional_number(record, "evaluation", location) == 0
        self.counts["n_items_rejected"] += rejected
        return rejected

    def _conversation(self, turns: Sequence[object], place: _Place) -> Iterator[Sample]:
        self.counts["n_empty_conversations"] += not turns
        history: tuple[Turn, ...] = ()
        for number, turn in enumerate(turns):
            there = f"{place.location}, turn {number}"
            sample = self._sample(as_record(turn, there), f"{place.item_id}#{number}", place, there)
            if not self._is_rejected(as_record(turn, there), there):
                yield replace(sample, kind=Kind.CONVERSATION, history=history)
            history += (Turn(sample.question, sample.references[0]),)

    def _sample(self, record: Record, sample_id: str, place: _Place, location: str) -> Sample:
        nodes = optional_texts(record, "relevant_node", location)
        passages = optional_texts(record, "relevant_passage", location)
        gold = locate_gold(nodes, passages, self.texts)
        self.counts["n_gold_passages_missing"] += bool(nodes) and not passages
        self.counts["n_gold_passages_not_found"] += gold.n_passages_not_found
        self.counts["n_evaluations_unusable"] += optional_number(record, "evaluation", location) == -1
        return Sample(
            id=sample_id,
            subset="finance",
            kind=_KINDS.get(place.task or "", Kind.QA),
            question=required_text(record, "question", location),
            references=required_texts(record, "golden_answers" if "golden_answers" in record else "answer", location),
            gold=gold.units,
            topic=place.topic,
            task=place.task,
        )
