"""Turns labels into training data for a judge, optionally with the sweep that they belong to."""

import hashlib
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from components.clusters import component_ids
from components.judges.graded import Graded
from components.records import Sample
from runner.engine.identity import describe, hash_description
from runner.labels.graders import labelled_graders
from runner.labels.label_files import LabelledItem, read_labels
from runner.labels.training.labelled_answers import LabelledQuestion, complete_items, read_labelled_questions
from runner.labels.training.prepared_folder import SPLITS, TrainingManifest, file_contents, key_of_files, write_prepared
from runner.labels.training.question_splits import split_groups
from runner.labels.training.training_pairs import TrainingPair, make_pairs
from runner.launch.compose import compose_config
from runner.launch.overrides import quote_values
from runner.results import read_sweep

NO_MODEL = "llm@judge.llm=scripted"
"""Stands in for the model to train. It never gets a request."""

TIED = "the annotators were evenly split"


@dataclass(frozen=True)
class Preparation:
    """The request of `prepare`. `sweep_dir` is None if no sweep is given; `shares` sum to 1."""

    labels: Path
    judge: str
    overrides: tuple[str, ...]
    sweep_dir: Path | None
    shares: tuple[float, ...]
    seed: int


def prepare(preparation: Preparation, folder: Path) -> TrainingManifest:
    """Write the folder of training data: see `prepared_folder`. Equal input gives equal bytes.

    Raises RagGridError if the labels, the sweep or the configuration are unusable.
    """
    items = read_labels(preparation.labels)
    n_ties = sum(len(item.ties) for item in items)
    items = [item for item in items if item.labels]
    questions: Mapping[str, LabelledQuestion] = {}
    if preparation.sweep_dir:
        questions = read_labelled_questions(preparation.sweep_dir, (item.judged.sample.id for item in items))
        items = complete_items(items, questions)
    config = compose_config(quote_values([f"judge={preparation.judge}", NO_MODEL, *preparation.overrides]))
    graders = labelled_graders(config, items)
    training_pairs = make_pairs(graders.values(), items)
    groups = component_ids([_ties(item.judged.sample, questions) for item in items])
    strata: list[list[Hashable]] = [_strata(item) for item in items]
    split_of = [SPLITS[index] for index in split_groups(groups, strata, preparation.shares, preparation.seed)]
    pairs = {split: [pair for pair in training_pairs.pairs if split_of[pair.item] == split] for split in SPLITS}
    held_out = [item for item, split in zip(items, split_of, strict=True) if split == SPLITS[-1]]
    contents = file_contents(pairs, held_out)
    manifest = TrainingManifest(
        key=key_of_files(contents),
        labels={"file": preparation.labels.name, "sha256": hashlib.sha256(preparation.labels.read_bytes()).hexdigest()},
        sweep=_sweep_facts(preparation.sweep_dir),
        judge=preparation.judge,
        overrides=preparation.overrides,
        wording={name: wording_key(grader) for name, grader in graders.items()},
        shares=preparation.shares,
        seed=preparation.seed,
        n_questions=_n_questions(items, split_of),
        counts={split: _counts(pairs_of_split) for split, pairs_of_split in pairs.items()},
        left_out={**({TIED: n_ties} if n_ties else {}), **training_pairs.n_left_out},
    )
    write_prepared(folder, manifest, contents)
    return manifest


def wording_key(grader: Graded) -> str:
    """Return a key of everything that a grader shows and reads, independent of its model."""
    return hash_description(describe(grader, without=("llm",)))


def _ties(sample: Sample, questions: Mapping[str, LabelledQuestion]) -> list[Hashable]:
    """Return the keys by which an item is connected to others: its question, its conversation, and its cluster in the
    sweep.
    """
    opening = sample.history[0].question if sample.history else sample.question
    ties: list[Hashable] = [("id", sample.id), ("opening", opening)]
    if sample.id in questions:
        ties.append(("cluster", questions[sample.id].cluster))
    return ties


def _strata(item: LabelledItem) -> list[Hashable]:
    return [None, *item.labels, *item.labels.items()]


def _sweep_facts(sweep_dir: Path | None) -> dict[str, str] | None:
    return {"sweep_id": read_sweep(sweep_dir).sweep_id} if sweep_dir else None


def _n_questions(items: Sequence[LabelledItem], split_of: Sequence[str]) -> dict[str, int]:
    ids = {
        split: {i.judged.sample.id for i, its_split in zip(items, split_of, strict=True) if its_split == split}
        for split in SPLITS
    }
    return {split: len(names) for split, names in ids.items()}


def _counts(pairs: Sequence[TrainingPair]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {}
    for pair in pairs:
        counts.setdefault(pair.metric, Counter())[pair.says] += 1
    return {metric: dict(sorted(by_reply.items())) for metric, by_reply in sorted(counts.items())}
