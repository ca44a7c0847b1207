"""Compressed passages in prompts and metrics, and the evidence that they lose."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from components.compressors.extractive import ExtractiveByReranker
from components.contexts.packed import PackedContext
from components.errors import ComponentError
from components.forensics.stages import EvidenceStage, FoundPiece, GoldUnit, find_stage
from components.llms.scripted import Scripted
from components.protocols import Compressor
from components.records import CompressedPassages
from components.rerankers.lexical import LexicalCoverage
from components.tokenizers.character_bigrams import CharacterBigrams
from runner.engine.stage import Stage
from runner.engine.store import Store
from runner.launch.sweep import EXIT_CELL_FAILED, EXIT_OK
from tests.llms.chat_server import ChatServer, Reply, chat_server, last_message
from tests.runner.pipeline.fixed import FixedTalk, LastFirst, OwnHistory, bm25, fixed_cell, graph_in, run_all
from tests.runner.sweeping import FEW_METRICS, cells_in, own_data, plan_small, read_or_make, run_small, samples_in

BEST = ExtractiveByReranker(LexicalCoverage(depth=1, tokenizer=CharacterBigrams()), 0.4)


@dataclass(frozen=True)
class Ends:
    """Retains the last `n` characters of each passage, and the first one."""

    n: int

    version: ClassVar[int] = 1

    def compress(self, queries: list[str], passages: list[list[str]]) -> list[CompressedPassages]:
        return [
            CompressedPassages(tuple(((0, 1), (max(len(text) - self.n, 1), len(text))) for text in own))
            for own in passages
        ]


@dataclass(frozen=True)
class Broken(Ends):
    """Returns `pieces` for the first passage of each query, as an iterator if `iterated`."""

    pieces: tuple[tuple[int, int], ...] = ()
    iterated: bool = False

    def compress(self, queries: list[str], passages: list[list[str]]) -> list[CompressedPassages]:
        first: Any = [iter(self.pieces) if self.iterated else self.pieces for _ in passages]
        return [
            CompressedPassages((pieces, *(() for _ in own[1:]))) for pieces, own in zip(first, passages, strict=True)
        ]


def graph_with(store: Store, compressor: Any, **fields: Any) -> Any:
    return graph_in(store, fixed_cell(retriever=bm25(), compressor=compressor, **fields))


def stages_of(graph: Any, kind: str) -> list[Stage[Any]]:
    return [stage for stage in graph.result.upstream() if stage.kind == kind]


def test_compressed_prompts_contain_only_the_selected_pieces(tmp_path: Path) -> None:
    store = Store(tmp_path, "a run")
    whole, parts = graph_with(store, _none()), graph_with(store, Ends(9))
    prompts = [read_or_make(stages_of(graph, "prompts")[0], store) for graph in (whole, parts)]
    passages = [_passages(store, graph) for graph in (whole, parts)]
    assert passages[1] == [[f"{text[0]} {text[-9:].strip()}" for text in own] for own in passages[0]]
    for own, messages in zip(passages[1], prompts[1], strict=True):
        assert all(text in messages[-1].content for text in own)
    assert prompts[0] != prompts[1]


def _none() -> Any:
    return fixed_cell().compressor


def _passages(store: Store, graph: Any) -> list[list[str]]:
    found: list[list[str]] = []

    class Reads(type(stages_of(graph, "prompts")[0])):  # type: ignore[misc]
        def make(self, run: Any) -> Any:
            found.extend([passage.text for passage in own] for own in self.passages.read(run))
            return super().make(run)

    (prompts,) = stages_of(graph, "prompts")
    stage = Reads(replace(prompts.prompt, qa="{question}\nAgain.\n{context}"), *list(vars(prompts).values())[1:4])
    run_all(store, stage)
    return found


@pytest.mark.parametrize("fields", [{}, {"refiner": LastFirst()}, {"context": PackedContext(window=1)}])
@pytest.mark.parametrize("compressor", [Ends(20), BEST])
def test_compressed_gold_is_counted_by_its_pieces(
    compressor: Compressor, fields: dict[str, Any], tmp_path: Path
) -> None:
    store = Store(tmp_path, "a run")
    graph = graph_with(store, compressor, **fields)
    run_all(store, graph.result)
    result = read_or_make(graph.result, store)
    whole = read_or_make(graph_with(store, _none(), **fields).result, store)
    rows, before = (own.samples.to_pylist() if hasattr(own, "samples") else own for own in (result, whole))
    n_lost = 0
    for row, earlier in zip(_rows(rows), _rows(before), strict=True):
        for unit, other in zip(row["gold"], earlier["gold"], strict=True):
            assert unit["n_chosen"] == other["n_in_context"]
            assert (unit["n_in_context"] or 0) <= (unit["n_chosen"] or 0)
            n_lost += (unit["n_chosen"] or 0) - (unit["n_in_context"] or 0)
            assert "n_chosen" not in other
        assert row["retrieved"] == earlier["retrieved"]
    assert n_lost > 0


def _rows(result: Any) -> list[dict[str, Any]]:
    table = result if isinstance(result, list) else next(v for v in vars(result).values() if hasattr(v, "to_pylist"))
    rows: list[dict[str, Any]] = table if isinstance(table, list) else table.to_pylist()
    return rows


def test_rankings_are_shared_with_cells_without_a_compressor(tmp_path: Path) -> None:
    store = Store(tmp_path, "a run")
    keys = [
        {stage.key for kind in ("ranking_scores", "context", "sparse_hits") for stage in stages_of(graph, kind)}
        for graph in (graph_with(store, _none()), graph_with(store, BEST))
    ]
    assert keys[0] == keys[1]


def test_conversation_turns_use_their_own_compressed_pieces(tmp_path: Path) -> None:
    store = Store(tmp_path, "a run")
    llm = Scripted(reply="To {question}: yes.")
    graph = graph_with(store, Ends(9), dataset=FixedTalk(), history=OwnHistory(), llm=llm)
    run_all(store, graph.result)
    assert len(stages_of(graph, "prompts")) == 2
    for stage in stages_of(graph, "prompts"):
        assert all("built of red" not in messages[-1].content for messages in read_or_make(stage, store))


@pytest.mark.parametrize("pieces", [((0, 0),), ((3, 2),), ((0, 5), (4, 6)), ((0, 10_000),), ((-1, 2),)])
def test_pieces_outside_their_passage_fail_the_stage(pieces: tuple[tuple[int, int], ...], tmp_path: Path) -> None:
    store = Store(tmp_path, "a run")
    (stage,) = stages_of(graph_with(store, Broken(1, pieces)), "prompt_pieces")
    with pytest.raises(
        (AssertionError, ComponentError), match=r"Broken.*expected non-empty ranges in order, without overlaps"
    ):
        run_all(store, stage)


@pytest.mark.parametrize(
    ("pieces", "iterated"),
    [
        (None, False),
        (((0.5, 2.5),), False),
        (((float("nan"), float("nan")),), False),
        (((0, 1, 2),), False),
        (("ab",), False),
        (((0, 2),), True),
    ],
)
def test_pieces_other_than_integer_pairs_fail_the_stage(pieces: Any, iterated: bool, tmp_path: Path) -> None:
    store = Store(tmp_path, "a run")
    (stage,) = stages_of(graph_with(store, Broken(1, pieces, iterated)), "prompt_pieces")
    with pytest.raises((AssertionError, ComponentError), match=r"Broken.*expected a tuple per passage with pairs"):
        run_all(store, stage)


@pytest.mark.parametrize(
    ("n_chosen", "n_in_context", "expected"),
    [
        (None, 0, EvidenceStage.DROPPED),
        (0, 0, EvidenceStage.DROPPED),
        (79, 10, EvidenceStage.DROPPED),
        (80, 79, EvidenceStage.COMPRESSED),
        (100, 0, EvidenceStage.COMPRESSED),
        (100, 80, EvidenceStage.IN_CONTEXT),
    ],
)
def test_evidence_removed_by_a_compressor_has_the_compressed_stage(
    n_chosen: int | None, n_in_context: int, expected: EvidenceStage
) -> None:
    unit = GoldUnit(100, n_in_context, [FoundPiece(1, 0, 100)], n_chosen=n_chosen)
    assert find_stage([unit], 5).stage is expected


TEXTS = {"a": "The bridge is red. It was opened in 1932. Trains use it.", "b": "The mill is old. It ground corn."}
SAMPLES = [
    {"id": "1", "question": "When was the bridge opened?", "references": ["1932"],
     "gold": [{"document": "a", "quote": "It was opened in 1932."}]},
    {"id": "2", "question": "What did the mill grind?", "references": ["corn"],
     "gold": [{"document": "b", "quote": "It ground corn."}]},
]  # fmt: skip


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """Selects the second sentence that it is shown, and answers each prompt with its last line."""

    def reply(request: dict[str, Any], attempt: int) -> Reply:
        asked = last_message(request)
        return Reply('{"sentences": [2]}' if '"sentences"' in asked else asked[:40])

    with chat_server(reply) as running:
        yield running


def test_compressor_requests_are_planned_and_never_repeated(tmp_path: Path, server: ChatServer) -> None:
    model = ["llm=openai", "llm.model=m", "llm.api_key_env=''", "llm.max_retries=0", f"llm.base_url={server.url}"]
    fixed = [*own_data(tmp_path, TEXTS, SAMPLES), *model, *FEW_METRICS, "language=en", "retriever=bm25"]
    cells = [[*fixed, "retriever.sparse_index.max_share_without_hits=1", "compressor=llm", "top_k=1"]]
    assert plan_small(tmp_path, *cells).plan.n_requests == 2 * len(SAMPLES)
    assert run_small(tmp_path, *cells) == EXIT_OK
    assert len(server.requests) == 2 * len(SAMPLES)
    shown = [last_message(request) for request in server.requests if '"sentences"' not in last_message(request)]
    assert any("It was opened in 1932." in text and "Trains" not in text for text in shown)
    rows = samples_in(tmp_path)
    assert all(unit["n_in_context"] == unit["n_characters"] for row in rows for unit in row["gold"])
    assert plan_small(tmp_path, *cells).plan.n_requests == 0
    assert run_small(tmp_path, *cells, sweep_id="again") == EXIT_OK
    assert len(server.requests) == 2 * len(SAMPLES)


def test_failed_compressor_requests_fail_the_cell(tmp_path: Path, server: ChatServer) -> None:
    answered = server.script
    broken = Reply(status=400, body=b"no")
    server.script = lambda request, n: broken if '"sentences"' in last_message(request) else answered(request, n)
    model = ["llm=openai", "llm.model=m", "llm.api_key_env=''", "llm.max_retries=0", f"llm.base_url={server.url}"]
    fixed = [*own_data(tmp_path, TEXTS, SAMPLES), *model, *FEW_METRICS, "language=en", "retriever=bm25"]
    cell = [*fixed, "retriever.sparse_index.max_share_without_hits=1", "compressor=llm", "top_k=1"]
    assert run_small(tmp_path, cell) == EXIT_CELL_FAILED
    (failed,) = cells_in(tmp_path)
    assert "2 of 2 selections of the compressor failed" in failed.reason
