"""Examples in prompts: from held-out samples, as turns of the chat, in every kind of prompt."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from components.datasets.part import Part
from components.errors import ConfigError
from components.examples.drawn import DrawnExamples
from components.generators.refine import Refine
from components.records import Message
from components.retrievers.closed_book import ClosedBook
from components.retrievers.oracle import Oracle
from runner.engine.store import Store
from runner.pipeline.answers.answer_stages import Prompts
from runner.pipeline.answers.generating import GeneratedInSteps
from runner.pipeline.cell_graph import Graph
from runner.pipeline.planned_cells import plan_sweep
from tests.runner.pipeline.fixed import FixedData, fixed_cell, graph_in, run_all
from tests.runner.sweeping import read_or_make, small_request

HELD_OUT = Part(FixedData(), 0.5, is_held_out=True)
EXAMPLES = {"dataset": Part(FixedData(), 0.5), "examples": DrawnExamples(HELD_OUT, n=1), "retriever": Oracle()}


def prompts(folder: Path, **fields: Any) -> Sequence[tuple[Message, ...]]:
    """The messages of all samples."""
    store = Store(folder)
    graph = graph_in(store, fixed_cell(**{**EXAMPLES, **fields}))
    (stage,) = [stage for stage in graph.result.upstream() if isinstance(stage, Prompts | GeneratedInSteps)]
    run_all(store, stage)
    made = read_or_make(stage, store)
    return made.prompts if hasattr(made, "prompts") else made


def test_example_is_a_chat_turn_with_its_gold(tmp_path: Path) -> None:
    held_out = {sample.question: sample for sample in HELD_OUT.load().samples}
    shown = prompts(tmp_path)
    assert len(shown) == 4 - len(held_out)
    for example, reference, asked in shown:
        assert [message.role for message in (example, reference, asked)] == ["user", "assistant", "user"]
        (sample,) = [sample for question, sample in held_out.items() if question in example.content]
        assert reference.content == sample.references[0]
        assert "Sources:\n[1] " in example.content
        assert not any(question in asked.content for question in held_out)


def test_closed_book_examples_have_no_passages(tmp_path: Path) -> None:
    for example, _, asked in prompts(tmp_path, retriever=ClosedBook()):
        assert "Sources:\n(none)" in example.content
        assert "Sources:\n(none)" in asked.content


def test_every_generator_request_contains_the_examples(tmp_path: Path) -> None:
    for *examples, asked in prompts(tmp_path, generator=Refine("{prompt} So far: {answer}")):
        assert [message.role for message in examples] == ["user", "assistant"]
        assert asked.role == "user"


PART = ("dataset=part", "llm=scripted")


@cache
def planned(*overrides: str) -> Graph:
    with TemporaryDirectory() as folder:
        (cell,) = plan_sweep([small_request(*overrides)], Store(Path(folder))).cells
    return cell.graph


def kinds_of(*overrides: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for stage in planned(*overrides).result.upstream():
        found.setdefault(stage.kind, set()).add(stage.key)
    return found


def test_examples_change_only_stages_that_read_them() -> None:
    without, with_them = kinds_of(*PART), kinds_of(*PART, "examples=held_out")
    changed = {kind for kind in without.keys() | with_them.keys() if without.get(kind) != with_them.get(kind)}
    own = {"examples", "prompts", "answers", "answer_units", "answer_scores", "result"}
    assert changed - own <= {"samples", "data", "corpus"}, "those of the pool besides"
    assert without["reference_units"] == with_them["reference_units"], "the same samples are scored"


def test_too_few_examples_of_a_kind_are_rejected_by_the_plan() -> None:
    with pytest.raises(ConfigError, match=r"examples.n: got 9, but .* has 2 samples of the kind continuation"):
        planned("dataset=part", "dataset.limit=null", "llm=scripted", "examples=held_out", "examples.n=9")


def test_zero_examples_keep_the_result_key() -> None:
    none = planned(*PART, "examples=held_out", "examples.n=0").result.key
    assert none == planned(*PART).result.key
    baseline = ("dataset=part", "llm=extractive")
    assert planned(*baseline, "examples=held_out").result.key == planned(*baseline).result.key
