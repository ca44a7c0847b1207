"""The expansions that come with a data set."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from components.errors import ConfigError
from components.expanders.published import Published
from runner.pipeline.search.query_stages import SampleQueries
from tests.contracts.expander_contract import PLAIN, ExpanderContract
from tests.runner.sweeping import own_data, plan_small, read_or_make, store_of


class TestPublished(ExpanderContract):
    component = Published()


def test_published_query_prefers_expansion_then_query_then_question() -> None:
    query = replace(PLAIN, query="a query")
    assert Published().expand([replace(query, expansion="words"), query, PLAIN]) == [
        ("words",), ("a query",), (PLAIN.question,),
    ]  # fmt: skip


def financerag(folder: Path, queries: str) -> list[str]:
    """A set of one document and one question with keywords, without a model."""
    files = {
        "corpus.jsonl": {"_id": "d", "title": "", "text": "Capital expenditure grew."},
        "queries.jsonl": {"_id": "q", "text": "MSFT capex?"},
        "queries_prep.jsonl": {"_id": "q", "text": "MSFT capex? capital expenditure"},
    }
    (folder / "FinDER").mkdir(exist_ok=True)
    for name, record in files.items():
        (folder / "FinDER" / name).write_text(f"{json.dumps(record)}\n", encoding="utf-8")
    (folder / "FinDER" / "qrels.tsv").write_text("query_id\tcorpus_id\tscore\nq\td\t1\n", encoding="utf-8")
    data = ["dataset=financerag", f"dataset.root={folder}", "dataset.sets=[FinDER]", f"dataset.queries={queries}"]
    return [*data, "tokenizer=english", "llm=none", "metrics=retrieval"]


def test_combined_expander_reuses_the_queries_of_its_parts(tmp_path: Path) -> None:
    data = financerag(tmp_path, "both")
    both = [*data, "expander=combined", "expander.use=[original,published]"]
    cells = plan_small(tmp_path, [*data, "expander=none"], [*data, "expander=published"], both).cells
    keys = [{stage.key for stage in cell.graph.result.upstream() if isinstance(stage, SampleQueries)} for cell in cells]
    assert [len(own) for own in keys] == [1, 1, 2]
    assert keys[2] == keys[0] | keys[1]


def test_user_questions_may_have_expansions(tmp_path: Path) -> None:
    questions = [
        {"id": "1", "question": "MSFT capex?", "expansion": " capital expenditure "},
        {"id": "2", "question": "?"},
    ]
    own = own_data(tmp_path, {"d": "Capital expenditure grew."}, questions)
    (cell,) = plan_small(tmp_path, [*own, "expander=published", "language=en"]).cells
    (stage,) = [stage for stage in cell.graph.result.upstream() if isinstance(stage, SampleQueries)]
    assert read_or_make(stage, store_of(tmp_path)).texts == ["capital expenditure", "?"]


def test_data_set_without_expansions_is_rejected_by_the_plan(tmp_path: Path) -> None:
    data = financerag(tmp_path, "original")
    with pytest.raises(ConfigError, match="no sample of the data set has an expansion") as told:
        plan_small(tmp_path, [*data, "expander=published"], [*data, "expander=published", "top_k=2"])
    assert len(told.value.problems) == 1
    plan_small(tmp_path, [*data, "expander=published", "retriever=oracle"])
