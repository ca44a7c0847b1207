"""Cells with a custom pipeline: how its replies are scored, and which replies never become a number."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from components.json_value import Json
from components.metrics.citations import Citations
from components.pipelines.pipeline_reply import read_reply, split_question
from components.protocols import AnswersFrom
from components.records import Answer, AnswerState, ErrorClass, Request, ScoreState
from components.retrievers.closed_book import ClosedBook
from runner.engine.store import Store
from runner.pipeline.cell import Cell
from runner.pipeline.result import CellSummary
from tests.runner.pipeline.fixed import FixedTalk, fixed_cell, graph_in, run_all

BRIDGE, HARBOUR = "The bridge was opened in 1932.", "Ships from the north land there."
NOWHERE = "It was never said in any of these documents."


@dataclass(frozen=True)
class Replies:
    """Replies by the first word of the question that is a key. A text that begins with "!" is a failure."""

    by_word: tuple[tuple[str, Any], ...]
    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES
    is_built_in: ClassVar[bool] = False
    asked: ClassVar[list[tuple[str, Any]]] = []

    def __hash__(self) -> int:
        return 0

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            question, history = split_question(request)
            self.asked.append((question, history))
            reply = next((reply for word, reply in self.by_word if word in question), "An answer.")
            if isinstance(reply, str) and reply.startswith("!"):
                yield Answer(request.id, AnswerState.ERROR, error=reply, error_class=ErrorClass.OTHER)
            else:
                yield read_reply(reply, request.id, 1.0)


def cell_of(**replies: Any) -> Cell:
    cell = fixed_cell(pipeline=Replies(tuple(replies.items())))
    return replace(cell, metrics=replace(cell.metrics, scores={**cell.metrics.scores, "citations": Citations()}))


def result_of(folder: Path, cell: Cell) -> CellSummary:
    store = Store(folder, "a run")
    graph = graph_in(store, cell)
    run_all(store, graph.result)
    entry = store.find(graph.result.kind, graph.result.key)
    assert entry is not None
    return graph.result.codec.decode(entry.parts())


def passages(*texts: Any, answer: str = "In 1932 [1]") -> dict[str, Any]:
    return {"answer": answer, "passages": list(texts)}


def rows(result: CellSummary) -> dict[str, dict[str, Json]]:
    return {row["id"]: row for row in result.samples.to_pylist()}


def states(result: CellSummary, metric: str) -> list[str]:
    found: list[str] = result.samples[f"score_state/{metric}"].to_pylist()
    return found


class TestNumbers:
    def test_pipeline_passages_in_the_corpus_have_retrieval_metrics(self, tmp_path: Path) -> None:
        row = rows(result_of(tmp_path, cell_of(bridge=passages(NOWHERE, BRIDGE))))["q1"]
        assert row["score/mrr"] == 0.5  # the passage that is nowhere keeps its rank
        assert row["score/passage_coverage"] == 1.0
        (hit,) = row["retrieved"]
        assert (hit["document_id"], hit["start"], hit["end"], hit["rank"]) == ("east/bridge", 0, 30, 2)
        assert row["found_gold"] == [{"rank": 2, "gold": 0, "start": 0, "end": 30}]
        assert row["gold"][0]["n_in_context"] == 30

    def test_passages_outside_the_corpus_do_not_change_the_rank_of_gold(self, tmp_path: Path) -> None:
        given = passages(BRIDGE, NOWHERE, f"{NOWHERE} Nor was this.", "Nobody wrote that anywhere.")
        row = rows(result_of(tmp_path, cell_of(bridge=given)))["q1"]
        assert (row["score/mrr"], row["score/ndcg@10"]) == (1.0, 1.0)

    def test_pipeline_citation_counts_by_the_place_of_its_passage(self, tmp_path: Path) -> None:
        (name,) = [name for name in Citations().names if "precision" in name]
        first = rows(result_of(tmp_path / "1", cell_of(bridge=passages(BRIDGE, NOWHERE))))
        second = rows(result_of(tmp_path / "2", cell_of(bridge=passages(NOWHERE, BRIDGE))))
        assert (first["q1"][f"score/{name}"], second["q1"][f"score/{name}"]) == (1.0, 0.0)

    def test_pipeline_without_passages_has_only_answer_metrics(self, tmp_path: Path) -> None:
        result = result_of(tmp_path, cell_of())
        for metric in ("mrr", "ndcg@10", "passage_coverage", "context_tokens", *Citations().names):
            assert states(result, metric) == [ScoreState.NOT_APPLICABLE] * 4
            assert result.samples[f"score/{metric}"].null_count == 4
        assert states(result, "em") == [ScoreState.VALUE] * 4
        assert result.samples["found_gold"].null_count == 4
        assert result.samples["gold"].to_pylist()[0][0]["n_in_context"] is None

    def test_pipeline_without_hits_scores_zero_in_retrieval_metrics(self, tmp_path: Path) -> None:
        row = rows(result_of(tmp_path, cell_of(bridge=passages())))["q1"]
        assert (row["score/mrr"], row["score/passage_coverage"], row["found_gold"]) == (0.0, 0.0, [])

    def test_failed_pipeline_request_has_no_value_in_any_metric(self, tmp_path: Path) -> None:
        result = result_of(tmp_path, cell_of(bridge="!broken", harbour=passages(HARBOUR)))
        for metric in ("mrr", "passage_coverage", "em", *Citations().names):
            assert states(result, metric)[0] == ScoreState.ANSWER_ERROR
            assert result.samples[f"score/{metric}"].to_pylist()[0] is None
        assert result.summary["counts"] == {"error": 1, "ok": 3}
        assert result.summary["commonest_errors"] == {"answers": "!broken"}
        assert result.summary["metrics"]["overall"]["mrr"]["n"] == 1

    def test_pipeline_context_has_no_token_count(self, tmp_path: Path) -> None:
        result = result_of(tmp_path, cell_of(bridge=passages(BRIDGE)))
        assert set(states(result, "context_tokens")) == {ScoreState.NOT_APPLICABLE}

    def test_empty_pipeline_answer_is_counted_as_empty(self, tmp_path: Path) -> None:
        assert result_of(tmp_path, cell_of(bridge="  ")).summary["counts"] == {"empty": 1, "ok": 3}

    def test_passages_outside_the_corpus_are_counted_and_reported(self, tmp_path: Path) -> None:
        steps = result_of(tmp_path, cell_of(bridge=passages(NOWHERE, BRIDGE), harbour=passages(NOWHERE))).summary[
            "steps"
        ]
        line = steps["pipeline"].pop("line")
        assert line.startswith("2 of 3 passages of the pipeline are not in the corpus")
        assert steps["pipeline"] == {
            "n_passages": 3, "n_not_in_corpus": 2, "n_near_copies": 0, "n_samples_without_passages": 2,
        }  # fmt: skip

    def test_passage_of_a_false_document_id_is_not_gold(self, tmp_path: Path) -> None:
        """The gold document is named for a text that it does not have."""
        lie = {"text": NOWHERE, "document_id": "east/bridge", "start": 0}
        row = rows(result_of(tmp_path, cell_of(bridge=passages(lie))))["q1"]
        assert (row["score/mrr"], row["score/passage_coverage"], row["retrieved"]) == (0.0, 0.0, [])


class TestGraph:
    def test_built_in_axes_do_not_apply_to_a_custom_pipeline(self, tmp_path: Path) -> None:
        store = Store(tmp_path, "a run")
        cell = cell_of()
        graph = graph_in(store, cell)
        assert graph_in(store, replace(cell, retriever=ClosedBook(), top_k=7)).result.key == graph.result.key
        assert {"pipeline", "dataset", "repeat", "metrics"} <= graph.used
        assert graph.used.isdisjoint({"retriever", "chunk", "llm", "prompt", "top_k", "embedder", "generator"})

    def test_custom_pipeline_key_depends_on_fields_and_draw(self, tmp_path: Path) -> None:
        store = Store(tmp_path, "a run")
        cells = [cell_of(), cell_of(bridge="x"), replace(cell_of(), repeat=1), fixed_cell()]
        assert len({graph_in(store, cell).result.key for cell in cells}) == 4

    def test_custom_pipeline_receives_the_history_of_a_conversation(self, tmp_path: Path) -> None:
        Replies.asked.clear()
        result_of(tmp_path, replace(cell_of(), dataset=FixedTalk()))
        assert ("When was the bridge opened?", []) in Replies.asked
        first = [{"question": "When was the bridge opened?", "answer": "In 1932"}]
        assert ("Who saw the bridge and the mill?", first) in Replies.asked

    def test_custom_pipeline_usage_counts_requests_and_tokens(self, tmp_path: Path) -> None:
        usage = {"prompt_tokens": 3, "completion_tokens": 2}
        reply = {"answer": "x", "usage": usage}
        summary = result_of(tmp_path, cell_of(**dict.fromkeys(("bridge", "harbour", "mill", "tower"), reply))).summary
        assert summary["usage"]["answers"] == {
            "n_requests": 4, "n_prompt_tokens": 12, "n_completion_tokens": 8, "n_cached_tokens": 0,
        }  # fmt: skip
