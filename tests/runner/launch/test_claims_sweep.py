"""Judges of claims in a whole sweep: planned, limited, killed, resumed, and shared by cells. The stand-in answers over
HTTP.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from analysis.forensics import verdicts
from components.datasets.beir_files import read_qrels
from components.llms.rehearsal.model import write_reply
from components.records import Message
from runner.export_rankings import main as export_rankings
from runner.output.planned_metric import PlannedMetrics
from runner.results.forensic_verdicts import sample_verdicts
from runner.results.loaded_sweep import load
from tests.extras import skip_without
from tests.llms.chat_server import ChatServer, Reply, chat_server, last_message
from tests.models.tiny import save_xlm_roberta_reranker
from tests.runner.sweeping import (
    QUIET,
    SWEEP_ID,
    cells_in,
    end_group,
    metrics_text,
    only_sweep,
    own_data,
    plan_small,
    run_command,
    run_small,
    samples_in,
    start_command,
    store_of,
    sweeps,
    wait_until,
)

N = 8
FEW = (f"dataset.limit={N}", "metrics=retrieval", "metrics.interval.n_resamples=100", "retriever=bm25", *QUIET)


def examine(request: dict[str, Any], attempt: int) -> Reply:
    """The reply of the rehearsal, after a moment in which the command can be killed."""
    messages = tuple(Message(str(own["role"]), str(own["content"])) for own in request["messages"])
    return Reply(write_reply(messages), delay_s=0.02)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(examine) as running:
        yield running


def judge(server: ChatServer, name: str, *more: str) -> tuple[str, ...]:
    model = ("judge.llm.model=a-judge", f"judge.llm.base_url={server.url}", "judge.llm.api_key_env=''")
    return (*FEW, f"judge={name}", *model, *more)


def is_about(request: dict[str, Any], key: str) -> bool:
    return f'"{key}"' in json.dumps(request["response_format"])


class TestPreset:
    def test_claims_sweep_killed_under_a_limit_finishes_without_repeats(
        self, server: ChatServer, tmp_path: Path
    ) -> None:
        whole = ("-m", "+sweeps=claims_demo", "llm@judge.llm=openai", *judge(server, "claims")[4:], "dataset.limit=6")
        planned = run_command(tmp_path, *whole, "run.plan_only=true")
        assert planned.returncode == 0, planned.stderr
        assert " 6 requests for preparing to judge" in planned.stdout, "references are known, so these are counted"
        assert "at most 240 requests for judging" in planned.stdout, "2 cells of 7 and 2 of 13 for each of 6 samples"
        assert server.requests == []

        limited = run_command(tmp_path, *whole, "run.max_requests=5")
        assert limited.returncode != 0
        assert "run.max_requests=5" in limited.stdout + limited.stderr
        assert len(server.requests) == 5

        for n_more in (20, 40):
            before = len(server.requests)
            process = start_command(tmp_path, *whole)
            wait_until(lambda n=before + n_more: len(server.requests) >= n, process)  # type: ignore[misc]
            end_group(process)
            process.communicate(timeout=30)
        assert run_command(tmp_path, *whole).returncode == 0
        asked = len(server.requests)
        assert asked < 6 + 240
        distinct = {json.dumps(request["messages"]) for request in server.requests}
        n_lost = asked - len(distinct)
        assert n_lost <= 2 * 2 * server.max_at_once, "a kill loses those on their way, and replies just received"

        assert run_command(tmp_path, *whole).returncode == 0
        assert len(server.requests) == asked
        *_, last_but_one, last = sweeps(tmp_path)
        assert metrics_text(last) == metrics_text(last_but_one) != {}


def test_claims_preset_runs_with_the_rehearsal_model(tmp_path: Path) -> None:
    done = run_command(tmp_path, "-m", "+sweeps=claims_demo", "dataset.limit=6", "metrics=retrieval", *QUIET)
    assert done.returncode == 0, done.stderr
    assert "overall_f1" in done.stdout
    assert only_sweep(tmp_path).is_dir()


def test_cells_share_claims_of_references_and_equal_requests(tmp_path: Path, server: ChatServer) -> None:
    """Two cells with other numbers of passages; the baseline quotes the best sentences of either."""
    assert run_small(tmp_path, judge(server, "claims", "top_k=2"), judge(server, "claims", "top_k=3")) == 0
    about_claims = [last_message(r) for r in server.requests if is_about(r, "claims")]
    assert len(about_claims) == len(set(about_claims))
    assert len({json.dumps(r["messages"]) for r in server.requests}) == len(server.requests)
    two, three = cells_in(tmp_path)
    for cell in (two, three):
        assert set(cell.larger_is_better) >= {"overall_f1", "faithfulness", "hallucination", "self_knowledge"}
        assert cell.larger_is_better["hallucination"] is False
        assert cell.larger_is_better["self_knowledge"] is None
        assert cell.larger_is_better["overall_f1"] is True
        assert cell.judges["claims"]["n_unparsable"] == 0
    rows = pq.read_table(tmp_path / "results" / SWEEP_ID / two.cell_id / "samples.parquet").to_pylist()
    assert any(row["judge/claims"].startswith("answer, ") for row in rows)
    parts = two.metrics["overall"]
    sums = [parts[name]["value"] * parts[name]["n"] for name in ("faithfulness", "hallucination", "self_knowledge")]
    assert sum(sums) == pytest.approx(parts["faithfulness"]["n"]), "every claim is in passages, right, or invented"


def test_claims_and_faithfulness_judges_share_the_claims_of_an_answer(tmp_path: Path, server: ChatServer) -> None:
    others = ("answer_relevancy", "context_relevance", "context_relevance_compat", "context_precision",
              "context_precision_without_reference", "context_recall")  # fmt: skip
    faithfulness = judge(server, "faithfulness", *(f"~judge.scores.{name}" for name in others))
    assert run_small(tmp_path, faithfulness) == 0
    split = [r for r in server.requests if is_about(r, "claims")]
    claims = judge(server, "claims", "judge.scores.claims.use=[hallucination,faithfulness]")
    assert run_small(tmp_path, claims, sweep_id="claims") == 0
    assert [r for r in server.requests if is_about(r, "claims")] == split


def test_every_ragas_metric_has_a_value(tmp_path: Path, server: ChatServer) -> None:
    assert run_small(tmp_path, judge(server, "faithfulness", "top_k=2")) == 0
    (cell,) = cells_in(tmp_path)
    names = ("faithfulness", "answer_relevancy", "answer_relevancy_compat", "context_relevance",
             "context_relevance_compat", "context_precision", "context_precision_without_reference",
             "context_recall")  # fmt: skip
    assert [name for name in names if cell.value(name) is None] == []
    planned = plan_small(tmp_path / "other", judge(server, "faithfulness", "top_k=2")).summary()
    assert planned["requests"] == {"judged_scores": N * (2 + 1 + 1 + 2 + 2 + 2 + 1)}
    assert len(server.requests) <= planned["requests"]["judged_scores"]


def test_failure_verdicts_use_claims_and_name_the_rule(tmp_path: Path, server: ChatServer) -> None:
    """The answers to two questions are wrong: sentences of the prompt, and sentences of no passage."""
    texts = {"ferry": "The ferry is Lea. It is blue.", "tunnel": "The tunnel is deep. It is dark."}
    samples = [{"id": own, "question": f"{own}?", "references": ["Zyx"], "gold": [own]} for own in texts]
    data = (*own_data(tmp_path, texts, samples), "language=en", "top_k=2", "llm=scripted")
    names = ("answer_relevancy", "context_relevance", "context_relevance_compat", "context_precision",
             "context_precision_without_reference", "context_recall")  # fmt: skip
    only = [f"~judge.scores.{name}" for name in names]
    told = [(*judge(server, "faithfulness", *only), *data, f"llm.reply='{reply}'")
            for reply in ("{context}", "The moon is green. It is blue.", "{question}")]  # fmt: skip
    assert run_small(tmp_path, *told) == 0
    sweep = load(tmp_path / "results" / SWEEP_ID)
    found = [{(own.verdict.failure.value, own.verdict.rule) for own in sample_verdicts(sweep, cell)}
             for cell in sweep.cells]  # fmt: skip
    assert found == [{("distracted", "claims")}, {("invented", "claims")}, {("unused", "characters")}]
    assert "rule" in verdicts(sweep, sweep.cells[0])


def test_relevance_grades_become_qrels_that_a_data_set_reads(tmp_path: Path, server: ChatServer) -> None:
    """Two cells form a pool; their judgements are the gold of a BEIR set of the same questions."""
    texts = {"ferry": "The ferry sails at noon.", "tunnel": "The tunnel is closed.", "bridge": "Trains use the bridge."}
    samples = [{"id": own, "question": f"Where is the {own}?"} for own in texts]
    data = (*own_data(tmp_path, texts, samples), "language=en", "llm=none")
    cells = [(*judge(server, "relevance"), *data, f"top_k={k}") for k in (1, 3)]
    assert run_small(tmp_path, *cells) == 0
    one, three = cells_in(tmp_path)
    assert all(cell.value(name) is not None for cell in (one, three) for name in ("umbrela_ndcg", "umbrela_precision"))
    output = tmp_path / "qrels.tsv"
    sweep_dir = str(tmp_path / "results" / SWEEP_ID)
    assert export_rankings([sweep_dir, "--format", "qrels", "--out", str(output)]) == 0
    header, *lines = output.read_text(encoding="utf-8").splitlines()
    assert header == "query-id\tcorpus-id\tscore"
    grades = {tuple(line.split("\t")[:2]): int(line.split("\t")[2]) for line in lines}
    assert grades["ferry", "ferry"] > 0
    assert set(read_qrels(output).scores) == {own for own, _ in grades}


def test_nuggets_are_prepared_once_for_all_cells(tmp_path: Path, server: ChatServer) -> None:
    assert run_small(tmp_path, judge(server, "nuggets", "top_k=2"), judge(server, "nuggets", "top_k=3")) == 0
    made = [r for r in server.requests if is_about(r, "nuggets")]
    assert len(made) == N
    assert all(cell.value("nugget_recall") is not None for cell in cells_in(tmp_path))
    assert len(server.requests) <= N + 2 * N


def test_nuggets_from_gold_documents_need_no_references(tmp_path: Path, server: ChatServer) -> None:
    """A span of one document and another document as a whole; one sample has no gold in the corpus."""
    texts = {"ferry": "The ferry is blue. It sails at noon.", "pier": "The pier is long.", "x": "Fish is sold here."}
    samples: list[dict[str, object]] = [
        {"id": "1", "question": "What of the ferry?", "gold": [{"document": "ferry", "start": 0, "end": 18}, "pier"]},
        {"id": "2", "question": "What of the whole ferry?", "gold": ["ferry"]},
        {"id": "3", "question": "What of the fish?"},
    ]
    data = (*own_data(tmp_path, texts, samples), "language=en", "llm=scripted", "llm.reply='The ferry is blue.'")
    cell = (*judge(server, "nuggets"), *data, "judge.scores.nuggets.source=gold_documents")
    planned = plan_small(tmp_path, cell)
    assert planned.summary()["requests"]["judge_preparation"] == 2
    (planned_cell,) = planned.cells
    metric = PlannedMetrics([planned_cell], planned_cell.graph.data, store_of(tmp_path)).plan_metric("nugget_recall")
    assert (len(metric.rows), metric.left_out) == (2, {"not_applicable": 1})
    assert run_small(tmp_path, cell) == 0
    made = [last_message(r) for r in server.requests if is_about(r, "nuggets")]
    assert ["[1] The ferry is blue.\n[2] The pier is long." in own for own in made].count(True) == 1
    rows = {row["id"]: row for row in samples_in(tmp_path)}
    assert (rows["1"]["score/nugget_recall"], rows["3"]["score_state/nugget_recall"]) == (0.5, "not_applicable")
    assert rows["3"]["judge/nuggets"] == "no gold document in the corpus"


def test_qrels_export_refuses_a_sweep_without_grades(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_small(tmp_path, FEW) == 0
    options = ["--format", "qrels", "--out", str(tmp_path / "q.tsv")]
    assert export_rankings([str(tmp_path / "results" / SWEEP_ID), *options]) == 2
    assert "--format qrels is for sweeps with judge=relevance" in capsys.readouterr().err


def test_claims_plan_never_counts_fewer_requests_than_are_sent(tmp_path: Path, server: ChatServer) -> None:
    """The plan covers the case of stored answers without stored claims."""
    cell = judge(server, "claims", "top_k=2")
    assert run_small(tmp_path, (*FEW, "top_k=2")) == 0
    planned = plan_small(tmp_path, cell).summary()["requests"]
    assert run_small(tmp_path, cell, sweep_id="judged") == 0
    assert len(server.requests) <= planned["judged_scores"] + planned["judge_preparation"] == N * 7 + N


class TestPlanByJudge:
    def test_judge_requests_are_counted_by_metric_before_answers_exist(
        self, tmp_path: Path, server: ChatServer
    ) -> None:
        planned = plan_small(tmp_path, judge(server, "faithfulness", "top_k=2")).summary()
        groups = planned["requests_of_groups"]["judged_scores"]
        assert {name: own["n_requests"] for name, own in groups.items()} == {
            "faithfulness": 2 * N, "answer_relevancy": N, "context_relevance": N, "context_relevance_compat": 2 * N,
            "context_precision": 2 * N, "context_precision_without_reference": 2 * N, "context_recall": N,
        }  # fmt: skip
        assert [own["is_exact"] for own in groups.values()] == [False] * 7
        assert groups["faithfulness"]["n_requests_with_repeats"] == 3 * 2 * N

    def test_judge_requests_are_exact_once_the_answers_exist(self, tmp_path: Path, server: ChatServer) -> None:
        assert run_small(tmp_path, (*FEW, "top_k=2")) == 0
        plan = plan_small(tmp_path, judge(server, "faithfulness", "top_k=2")).summary()
        groups = plan["requests_of_groups"]["judged_scores"]
        assert sum(own["n_requests"] for own in groups.values()) == plan["requests"]["judged_scores"]
        relevancy, faithfulness = groups["answer_relevancy"], groups["faithfulness"]
        assert (relevancy["is_exact"], relevancy["n_tokens"] > 0) == (True, True)
        assert (faithfulness["is_exact"], faithfulness["n_tokens"]) == (False, None), "verdicts follow the claims"
        before = len(server.requests)
        assert run_small(tmp_path, judge(server, "faithfulness", "top_k=2"), sweep_id="judged") == 0
        assert sum(is_about(r, "questions") for r in server.requests[before:]) == relevancy["n_requests"]

    def test_plan_table_names_each_judge(self, tmp_path: Path, server: ChatServer) -> None:
        done = run_command(tmp_path, *judge(server, "claims", "top_k=2"), "run.plan_only=true")
        rows = [line.split() for line in done.stdout.splitlines()]
        assert ["preparing", "to", "judge", "claims", "8", "at", "most", "24", "at", "most"] in [
            row[:10] for row in rows
        ]
        assert ["judging", "claims", "at", "most", "56", "at", "most", "168", "–"] in rows
        assert server.requests == []


def test_plan_over_stored_claims_loads_no_local_model(
    tmp_path: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without("sentence_transformers", "torch")
    labels = {"0": "contradiction", "1": "entailment", "2": "neutral"}
    save_xlm_roberta_reranker(tmp_path / "nli", n_labels=len(labels))
    config = tmp_path / "nli" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "id2label": labels}), encoding="utf-8")
    entailment = ("judge/entailment=cross_encoder", f"judge.entailment.model={tmp_path / 'nli'}", "top_k=2")
    assert run_small(tmp_path, (*FEW, "top_k=2"), sweep_id="answers") == 0
    before = plan_small(tmp_path, judge(server, "faithfulness", *entailment)).summary()["requests_of_groups"]
    assert before["judged_scores"]["faithfulness"]["is_exact"], "no request follows the claims"
    for name in ("claims", "faithfulness"):
        assert run_small(tmp_path, judge(server, name, *entailment), sweep_id=name) == 0

    def never(*_: object) -> None:
        raise AssertionError("the plan loaded the model")

    monkeypatch.setattr("components.judges.nli._load", never)
    for name in ("claims", "faithfulness"):
        planned = plan_small(tmp_path, judge(server, name, *entailment, "metrics.interval.n_resamples=101")).summary()
        assert planned["requests_of_groups"]["judged_scores"][name]["n_requests"] == 0
        assert planned["requests_of_groups"]["judged_scores"][name]["is_exact"]


def test_unreadable_verdicts_are_counted_and_fail_the_cell(tmp_path: Path) -> None:
    def script(request: dict[str, Any], attempt: int) -> Reply:
        if is_about(request, "verdicts"):
            return Reply('{"verdicts": [{"number": 7, "reason": "?", "verdict": "supported"}]}')
        return examine(request, attempt)

    with chat_server(script) as server:
        assert run_small(tmp_path, judge(server, "claims")) == 1
    (cell,) = cells_in(tmp_path)
    assert "judgements of claims could not be read" in cell.reason
    assert cell.value("faithfulness") is None
    assert cell.metrics["overall"]["faithfulness"]["n_excluded"] == {"unparsable": N}
