"""The papers and their tables: source, subject of the rows, and our counterparts of their terms."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from components.errors import DataError
from components.limits import expected_one_of


class MetricNames(NamedTuple):
    """Our names of a printed metric.

    `published` computes the same as the paper's code. `plain` is our definition of the same quantity. It is "" if
    `published` is that definition, or if no other metric measures it.
    """

    published: str
    plain: str = ""


@dataclass(frozen=True)
class Paper:
    """A paper. `base` are the settings that its sweeps keep fixed, in its words: column -> level (see `levels.csv`).

    `metrics` maps printed names to ours. `n_samples` is the approximate number of samples behind the numbers of a part
    of the benchmark, by subset or by another level of a row; `size` names the source of these numbers. `computed_by` is
    the override that computes a printed metric. `sets` are the subsets over which its numbers are means, if it prints
    no others.
    """

    name: str
    authors: str
    title: str
    venue: str
    year: int
    url: str
    base: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, MetricNames] = field(default_factory=dict)
    n_samples: Mapping[str, int] = field(default_factory=dict)
    computed_by: Mapping[str, str] = field(default_factory=dict)
    sets: tuple[str, ...] = ()
    size: str = ""

    def __str__(self) -> str:
        return f"{self.authors} {self.year}: {self.title}. {self.venue}. {self.url}"


@dataclass(frozen=True)
class TableInfo:
    """A table of a paper. `base` adds to the paper's. Cells cannot be paired with a table that is not a sweep.

    `notes` are facts to know before a comparison.
    """

    paper: Paper
    number: int
    about: str
    notes: tuple[str, ...] = ()
    base: Mapping[str, str] = field(default_factory=dict)
    is_sweep: bool = True

    @property
    def name(self) -> str:
        """Name of the table, e.g. "crud_rag/3"."""
        return f"{self.paper.name}/{self.number}"


CRUD_RAG = Paper(
    name="crud_rag",
    authors="Lyu, Li, Niu, Xiong, Tang, Wang, Wu, Liu, Xu and Chen",
    title="CRUD-RAG: A Comprehensive Chinese Benchmark for Retrieval-Augmented Generation of Large Language Models",
    venue="ACM Transactions on Information Systems 43(2), article 41",
    year=2025,
    url="https://doi.org/10.1145/3701228",
    base={
        "dataset": "CRUD-RAG",
        "chunk_size": "128",
        "chunk_overlap_percent": "0",
        "embedding": "bge-base",
        "retriever": "Dense",
        "top_k": "8",
        "llm": "GPT-3.5-turbo",
    },
    metrics={
        "bleu": MetricNames("bleu_crud_compat", "bleu"),
        "rouge_l": MetricNames("rouge_l_crud_compat", "rouge_l"),
        "bert_score": MetricNames("text2vec_similarity_crud_compat"),  # the paper's code logs this metric as bertScore
        "quest_eval_precision": MetricNames("quest_eval_precision_crud_compat", "quest_eval_precision"),
        "quest_eval_recall": MetricNames("quest_eval_recall_crud_compat", "quest_eval_recall"),
        "length": MetricNames("length"),
    },
    n_samples={
        "create/continuation": 2000,
        "delete/summarization": 2000,
        "read/qa_1doc": 800,
        "read/qa_2docs": 800,
        "read/qa_3docs": 800,
        "update/hallucination": 2000,
    },
    computed_by={
        "bleu": "metrics=published",
        "rouge_l": "metrics=published",
        "bert_score": "metrics=crud_rag",
        "quest_eval_precision": "judge=crud_rag",
        "quest_eval_recall": "judge=crud_rag",
        "length": "metrics=published",
    },
    size="sizes in the published split file; they differ from the fifth of the data that the paper mentions",
)

OMNIEVAL = Paper(
    name="omnieval",
    authors="Wang, Tan, Dou and Wen",
    title="OmniEval: An Omnidirectional and Automatic RAG Evaluation Benchmark in Financial Domain",
    venue="preprint",
    year=2024,
    url="https://github.com/RUC-NLPIR/OmniEval",
    base={"dataset": "OmniEval", "top_k": "5"},
    metrics={
        "map": MetricNames("map_omnieval_compat", "map@10"),
        "mrr": MetricNames("mrr_strict", "mrr"),
        "rouge_l": MetricNames("rouge_l_omnieval_compat", "rouge_l"),
        "f1": MetricNames("f1_omnieval_compat", "f1"),
        "accuracy": MetricNames("accuracy"),
        "hallucination": MetricNames("hallucination"),
        "completeness": MetricNames("completeness_omnieval_compat", "completeness"),
        "utilization": MetricNames("utilization"),
        "numerical_accuracy": MetricNames("numerical_accuracy_omnieval_compat", "numerical_accuracy"),
    },
    n_samples={"auto_generated": 11400, "human_annotated": 1700},
    computed_by={
        **dict.fromkeys(("map", "mrr", "rouge_l", "f1"), "metrics=published"),
        **dict.fromkeys(
            ("accuracy", "hallucination", "completeness", "utilization", "numerical_accuracy"),
            "judge=omnieval_published",
        ),
    },
    size="sizes of the two test sets in the paper",
)

FINANCERAG = Paper(
    name="financerag",
    authors="Lee and Roh",
    title="Multi-Reranker: Maximizing performance of retrieval-augmented generation in the FinanceRAG challenge",
    venue="ACM-ICAIF '24 FinanceRAG challenge",
    year=2024,
    url="https://github.com/cv-lee/FinanceRAG",
    base={"dataset": "FinanceRAG", "reranker": "jina-reranker-v2"},
    metrics={"ndcg_at_10": MetricNames("ndcg@10_strict", "ndcg@10")},  # the paper credits no copies of the gold
    computed_by={"ndcg_at_10": "metrics=retrieval"},
    sets=("finder", "finqabench", "financebench", "tatqa", "finqa", "convfinqa", "multihiertt"),
)

_TEXT2VEC = (
    "bert_score is, in the paper's code, a cosine of text2vec sentence embeddings: it is not compared with a BERTScore"
)
_JUDGE = "the paper's judge is a fine-tuned Qwen2.5-7B-Instruct: another judge may grade on a different scale"

_LIST = (
    TableInfo(CRUD_RAG, 3, "chunk sizes, with fewer chunks in the prompt if they are larger", (_TEXT2VEC,)),
    TableInfo(CRUD_RAG, 4, "overlap of neighbouring chunks", (_TEXT2VEC,)),
    TableInfo(
        CRUD_RAG,
        5,
        "retrievers",
        (
            _TEXT2VEC,
            "the paper's Hybrid takes chunks of the joined rankings at random, ours joins them by reciprocal rank; its "
            "reranker is bge-rank",
        ),
        {"reranker": "bge-rank"},
    ),
    TableInfo(CRUD_RAG, 6, "embedding models", (_TEXT2VEC,)),
    TableInfo(CRUD_RAG, 7, "number of chunks in the prompt", (_TEXT2VEC,)),
    TableInfo(
        CRUD_RAG,
        8,
        "language models",
        (
            _TEXT2VEC,
            "for Qwen2-7B the printed rouge_l and bert_score of read/qa_2docs equal the values of read/qa_1doc, which "
            "looks like a slip of the paper",
        ),
    ),
    TableInfo(OMNIEVAL, 2, "sources of the corpus by documents and characters; no experiment", is_sweep=False),
    TableInfo(
        OMNIEVAL,
        3,
        "agreement of judge models with human labels; measured here by python -m runner.judge_agreement",
        is_sweep=False,
    ),
    TableInfo(
        OMNIEVAL,
        4,
        "embedding models",
        (_JUDGE, "the paper retrieves 5 nodes for a question; our map and mrr look at the whole ranking"),
        {"generator": "Qwen2.5-72B"},
    ),
    TableInfo(OMNIEVAL, 5, "language models, with and without retrieval", (_JUDGE,)),
    TableInfo(
        FINANCERAG,
        1,
        "queries expanded by a language model, and reduced corpora",
        (
            "the marks that distinguish the rows were lost in the text of the paper: they are inferred from the order "
            "of the rows, and four of the values occur twice",
            "the paper ranks only by jina-reranker-v2-base-multilingual, applies table_only to MultiHiertt alone, and "
            "does not say how it averages over the seven sets; ours are means over all queries with labels",
            "its expansions follow the question in one query. So do ours with expander=published, and with a model's "
            "expander.joined=true expander.with_question=true",
        ),
    ),
)

TABLES: Mapping[str, TableInfo] = {info.name: info for info in _LIST}


def find_table(name: str) -> TableInfo:
    """Return the table of that name, such as "crud_rag/3".

    Raises DataError, which lists the existing tables, for an unknown name.
    """
    if name not in TABLES:
        raise DataError(
            f"got the table {name!r}{expected_one_of(name, TABLES)}. For a sweep alone, run: python -m analysis "
            "compare SWEEP --format latex"
        )
    return TABLES[name]
