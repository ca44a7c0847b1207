"""MultiHop-RAG's files: facts located in articles, types of questions, and questions without an answer."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from components.datasets.multihop_rag import MultiHopRag
from components.errors import ConfigError, DataError
from components.protocols import Dataset
from components.records import Evidence
from tests.contracts.dataset_contract import DatasetContract

BRIDGE, FERRY = "https://news.example/bridge", "https://news.example/ferry"
ARTICLES: list[dict[str, Any]] = [
    {
        "title": "The bridge opens",
        "author": None,
        "source": "The Courier",
        "published_at": "2023-10-01T00:00:00+00:00",
        "category": "local",
        "url": BRIDGE,
        "body": "After ten years\nthe bridge opened on Sunday. Many came.",
    },
    {"title": "The ferry stops", "source": "The Echo", "url": FERRY, "body": "The ferry made its last crossing."},
]
QUESTIONS: list[dict[str, Any]] = [
    {
        "query": "Which crossing opened on the day the ferry stopped?",
        "answer": "the bridge",
        "question_type": "inference_query",
        "evidence_list": [
            {"url": BRIDGE, "fact": "After ten years the bridge opened on Sunday."},
            {"url": FERRY, "fact": "The ferry made its last crossing."},
            {"url": FERRY, "fact": "The ferry made its last crossing."},
        ],
    },
    {
        "query": "Do both papers report on boats?",
        "answer": "no",
        "question_type": "comparison_query",
        "evidence_list": [{"url": FERRY, "fact": "The captain wept."}],
    },
    {
        "query": "What did the tunnel cost?",
        "answer": "Insufficient information.",
        "question_type": "null_query",
        "evidence_list": [],
    },
]


def write(
    root: Path, articles: Sequence[object] | None = None, questions: Sequence[object] | None = None, longer: str = ""
) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    files = {"corpus.json": articles or ARTICLES, "MultiHopRAG.json": questions or QUESTIONS}
    for name, records in files.items():
        (root / name).write_text(json.dumps(records) + "\n" * (name == longer), encoding="utf-8")
    return root


class TestContract(DatasetContract):
    references_required = False

    @pytest.fixture(autouse=True)
    def written(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.component = MultiHopRag(str(write(tmp_path_factory.mktemp("multihop"))))

    component: Dataset = MultiHopRag("somewhere")

    def with_one_byte_more(self, tmp_path: Path) -> Sequence[Dataset]:
        names = ("", "corpus.json", "MultiHopRAG.json")
        return [MultiHopRag(str(write(tmp_path / f"longer-{name}", longer=name))) for name in names]


def test_multihop_facts_are_located_across_line_breaks(tmp_path: Path) -> None:
    benchmark = MultiHopRag(str(write(tmp_path))).load()
    first = benchmark.samples[0]
    texts = dict(zip(benchmark.documents.ids, benchmark.documents.texts, strict=True))
    assert [texts[unit.document_id][unit.start : unit.end] for unit in first.gold] == [
        "After ten years\nthe bridge opened on Sunday.",
        "The ferry made its last crossing.",
    ]
    assert first.subset == "inference_query"
    assert first.answer_parts == (("the bridge",),)


def test_fact_that_its_article_lacks_makes_the_article_gold(tmp_path: Path) -> None:
    benchmark = MultiHopRag(str(write(tmp_path))).load()
    assert benchmark.samples[1].gold == (Evidence(FERRY),)
    assert benchmark.notes["n_facts_not_found"] == 1


def test_multihop_null_query_is_unanswerable(tmp_path: Path) -> None:
    sample = MultiHopRag(str(write(tmp_path))).load().samples[2]
    assert (sample.answerable, sample.references, sample.answer_parts, sample.gold) == (False, (), (), ())


def test_facts_about_an_article_are_its_metadata(tmp_path: Path) -> None:
    documents = MultiHopRag(str(write(tmp_path))).load().documents
    assert documents.metadata[list(documents.ids).index(BRIDGE)] == {
        "source": "The Courier",
        "published_at": "2023-10-01T00:00:00+00:00",
        "category": "local",
    }


def test_multihop_dataset_folder_of_the_repository_is_found(tmp_path: Path) -> None:
    write(tmp_path / "dataset")
    assert len(MultiHopRag(str(tmp_path)).load().documents) == 2


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ({**QUESTIONS[0], "query": None}, "the question of sample '0' is empty"),
        ({**QUESTIONS[0], "evidence_list": {}}, "record 0, field 'evidence_list': got a JSON object, expected a list"),
        ({**QUESTIONS[0], "evidence_list": [{"fact": "F"}]}, "field 'evidence_list': no field 'url'"),
        ({"query": "Q?", "question_type": "null_query"}, "record 0: no field 'answer'"),
        ({**QUESTIONS[0], "answer": None}, "record 0, field 'answer': is blank"),
        ({**QUESTIONS[0], "answer": " "}, "record 0, field 'answer': is blank"),
    ],
)
def test_damaged_multihop_records_are_refused_with_their_place(tmp_path: Path, question: object, text: str) -> None:
    with pytest.raises(DataError, match=text):
        MultiHopRag(str(write(tmp_path, questions=[question, QUESTIONS[1]]))).load()


def test_questions_about_missing_articles_are_rejected(tmp_path: Path) -> None:
    others = [{"url": "https://news.example/other", "body": "Something else."}]
    with pytest.raises(DataError, match=r"corpus.json and MultiHopRAG.json from the same version"):
        MultiHopRag(str(write(tmp_path, articles=others))).load()


def test_multihop_without_a_root_is_rejected() -> None:
    with pytest.raises(ConfigError, match=r"expected the folder that holds corpus.json and MultiHopRAG.json"):
        MultiHopRag().load()
