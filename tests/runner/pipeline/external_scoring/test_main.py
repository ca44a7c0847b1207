"""`python -m runner.score`: any system's answers and rankings."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sacrebleu import corpus_bleu

from runner.pipeline.external_scoring import metric_names as names
from runner.pipeline.external_scoring.answer_lines import QuestLine
from runner.pipeline.external_scoring.metric_names import metrics_by_name
from runner.score import main

ANSWER = {"id": "a", "prediction": "北京是首都", "references": ["北京是中国的首都", "首都是北京"]}
RANKING = {"id": "r", "ranking": ["d1", "d2"], "relevant": {"d2": 2, "d3": 0}}
QUEST = {"id": "q", "answers_reference": ["甲", "乙", "无法推断"], "answers_generated": ["甲", "无法推断", "丙"]}


def score(folder: Path, metrics: str, *lines: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """The output lines and the summary."""
    source, output, summary = folder / "in.jsonl", folder / "out.jsonl", folder / "summary.json"
    source.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    arguments = ["--input", str(source), "--metrics", metrics, "--out", str(output), "--summary", str(summary)]
    assert main(arguments) == 0
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    return rows, json.loads(summary.read_text(encoding="utf-8"))


def refused(folder: Path, capsys: pytest.CaptureFixture[str], metrics: str, *lines: object) -> str:
    """Return the error for unusable input. Nothing is written."""
    source = folder / "in.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    source.write_text("\n".join(texts), encoding="utf-8")
    assert main(["--input", str(source), "--metrics", metrics, "--out", str(folder / "out.jsonl")]) == 2
    assert not (folder / "out.jsonl").exists()
    return capsys.readouterr().err


def test_scored_record_with_all_fields_has_all_requested_scores(tmp_path: Path) -> None:
    rows, summary = score(
        tmp_path, "rouge_l,em,ndcg@3,quest_eval_recall", {**RANKING, **QUEST, **ANSWER}, {**ANSWER, "id": "b"}
    )
    assert [row["id"] for row in rows] == ["a", "b"]
    assert rows[0]["scores"]["rouge_l"] == pytest.approx(2 * 3 / (3 + 5))
    assert rows[0]["scores"]["ndcg@3"] == pytest.approx(0.6309297535714575)
    assert rows[0]["scores"]["quest_eval_recall"] == 0.5
    assert rows[1]["scores"] == {**rows[1]["scores"], "ndcg@3": None, "quest_eval_recall": None}
    assert rows[1]["states"]["ndcg@3"] == "not_applicable"
    assert (summary["ndcg@3"]["n"], summary["ndcg@3"]["n_excluded"]) == (1, {"not_applicable": 1})
    assert (summary["rouge_l"]["n_clusters"], summary["rouge_l"]["interval"]) == (2, [None, None])


ANSWERS = ["北京", "北京是首都", "首都是北京", "上海", "中国的首都", "北京是中国的首都", "天津"]


def test_scored_lines_of_one_cluster_count_as_a_whole(tmp_path: Path) -> None:
    """Six lines give each of seven answers, and say as much as seven lines."""
    lines = [{**ANSWER, "prediction": ANSWERS[i % 7], "id": str(i), "cluster": f"c{i % 7}"} for i in range(42)]
    _, clustered = score(tmp_path, "rouge_l,em", *lines)
    _, once = score(tmp_path, "rouge_l,em", *lines[:7])
    _, apart = score(tmp_path, "rouge_l,em", *({**line, "cluster": None} for line in lines))
    for name in ("rouge_l", "em"):
        assert clustered[name]["n_clusters"] == once[name]["n_clusters"] == 7
        assert clustered[name]["interval"] == pytest.approx(once[name]["interval"], abs=0.02)
        assert apart[name]["n_clusters"] == 42
        assert np.diff(apart[name]["interval"]) < 0.6 * np.diff(clustered[name]["interval"])
    assert (clustered["rouge_l"]["method"], apart["rouge_l"]["method"]) == ("t", "t")
    assert clustered["em"]["method"] == "wilson"


def test_scored_lines_with_a_common_relevant_document_are_one_cluster(tmp_path: Path) -> None:
    relevant = [["d1"], ["d1", "d2"], ["d2"], ["d3"], ["d4"], ["d5"], ["d6"]]
    lines = [{"id": str(i), "ranking": ["d1", "d3"], "relevant": own} for i, own in enumerate(relevant)]
    _, summary = score(tmp_path, "mrr", *lines)
    assert summary["mrr"]["n_clusters"] == 5


def test_score_command_reads_answer_parts_and_unanswerable_questions(tmp_path: Path) -> None:
    lines = [
        {"id": "a", "prediction": "By a crew, in 1932.", "answer_parts": [["team", "crew"], "1932"]},
        {"id": "b", "prediction": "Insufficient information", "answerable": False},
        {"id": "c", "prediction": "In 1933.", "references": ["1932"]},
    ]
    rows, summary = score(tmp_path, "contains_all,right_refusals,wrong_refusals", *lines)
    assert [row["scores"]["contains_all"] for row in rows] == [1.0, None, 0.0]
    assert [row["scores"]["right_refusals"] for row in rows] == [None, 1.0, None]
    assert [row["scores"]["wrong_refusals"] for row in rows] == [0.0, None, 0.0]
    assert summary["right_refusals"]["n_excluded"] == {"not_applicable": 2}


def test_requested_metrics_keep_their_order_without_repeats(tmp_path: Path) -> None:
    rows, summary = score(tmp_path, "recall@5, mrr,recall@1,mrr", RANKING)
    assert list(rows[0]["scores"]) == list(summary) == ["recall@5", "mrr", "recall@1"]
    assert rows[0]["scores"] == {"recall@5": 1.0, "mrr": 0.5, "recall@1": 0.0}


def test_score_command_gives_four_variants_of_rag_quest_eval(tmp_path: Path) -> None:
    names = "quest_eval_precision,quest_eval_recall,quest_eval_precision_crud_compat,quest_eval_recall_crud_compat"
    rows, _ = score(tmp_path, names, QUEST, {**QUEST, "id": "none", "answers_generated": ["无法推断"] * 3})
    assert rows[0]["scores"] == dict(zip(names.split(","), [1.0, 0.5, 1.0, 0.5], strict=True))
    assert rows[1]["scores"] == dict(zip(names.split(","), [None, 0.0, 0.0, 0.0], strict=True))
    assert rows[1]["states"]["quest_eval_precision"] == "not_applicable"


def test_corpus_metric_has_a_value_only_in_the_summary(tmp_path: Path) -> None:
    rows, summary = score(
        tmp_path, "bleu", ANSWER, {"id": "b", "prediction": "天气很好", "references": ["今天天气很好"]}
    )
    assert [row["scores"]["bleu"] for row in rows] == [None, None]
    expected = corpus_bleu(
        ["北京是首都", "天气很好"], [["北京是中国的首都", "今天天气很好"], ["首都是北京", None]], tokenize="zh"
    )
    assert summary["bleu"]["value"] == pytest.approx(expected.score / 100)


def test_failed_answers_are_excluded_and_empty_answers_score_zero(tmp_path: Path) -> None:
    rows, summary = score(tmp_path, "f1", {**ANSWER, "prediction": None}, {**ANSWER, "id": "b", "prediction": ""})
    assert [row["states"]["f1"] for row in rows] == ["answer_error", "value"]
    assert (summary["f1"]["value"], summary["f1"]["n"], summary["f1"]["n_excluded"]) == (0.0, 1, {"answer_error": 1})


def test_published_bleu_reports_means_with_and_without_empty_answers(tmp_path: Path) -> None:
    empty = {**ANSWER, "id": "b", "prediction": ""}
    rows, summary = score(tmp_path, "bleu_1_crud_compat,f1", {**ANSWER, "references": ["北京是首都"]}, empty)
    assert [row["scores"]["bleu_1_crud_compat"] for row in rows] == [1.0, 0.0]
    assert [row["states"]["bleu_1_crud_compat"] for row in rows] == ["value", "empty"]
    assert rows[1]["states"]["f1"] == "value"
    bleu = summary["bleu_1_crud_compat"]
    assert (bleu["value"], bleu["n"], bleu["value_without_empty"], bleu["n_empty"]) == (0.5, 2, 1.0, 1)


def test_line_without_a_relevant_document_has_no_gold(tmp_path: Path) -> None:
    rows, _ = score(tmp_path, "mrr", {**RANKING, "relevant": {}}, {**RANKING, "id": "b", "ranking": []})
    assert [row["states"]["mrr"] for row in rows] == ["no_gold", "value"]
    assert rows[1]["scores"]["mrr"] == 0.0


@pytest.mark.parametrize(
    ("metrics", "lines", "message"),
    [
        ("rougel", [ANSWER], "got 'rougel'; did you mean rouge_l?"),
        ("rouge_l f1", [ANSWER], "got 'rouge_l f1'"),
        (" , ", [ANSWER], "--metrics: got none"),
        ("f1", [RANKING], "no line has the fields that f1 reads, expected prediction and references"),
        ("f1", [], "contains no line"),
        ("f1", [ANSWER, ANSWER], "line 2: the id 'a' occurs twice"),
        ("f1", [{"prediction": "x", "references": []}], "line 1: no field 'id'"),
        ("f1", [{"id": "a", "prediction": "x"}], "line 1: has 'prediction' and no 'references'"),
        ("f1", [{"id": "a", "prediction": 3, "references": []}], "line 1, field 'prediction': got a number"),
        ("f1", [ANSWER, "{"], "line 2: is not JSON"),
        ("mrr", [{**RANKING, "ranking": ["d", "d"]}], "line 1, field 'ranking': got 'd' twice"),
        ("mrr", [{**RANKING, "ranking": [1]}], "line 1, field 'ranking': got 1 (int)"),
        ("mrr", [{**RANKING, "relevant": {"d": "high"}}], "line 1, field 'relevant': got the grade 'high'"),
        ("mrr", [{**RANKING, "relevant": {"d": 2**31}}], "line 1, field 'relevant': got the grade 2147483648"),
        ("f1", [{**ANSWER, "cluster": 3}], "line 1, field 'cluster': got a number"),
        ("mrr", [{**RANKING, "relevant": "d"}], "line 1, field 'relevant': got a string, expected an object"),
        ("quest_eval_recall", [{**QUEST, "answers_generated": "a"}], "field 'answers_generated': got a string"),
    ],
)  # fmt: skip
def test_bad_scoring_input_is_one_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], metrics: str, lines: list[object], message: str
) -> None:
    assert message in refused(tmp_path, capsys, metrics, *lines)


def test_missing_scoring_input_and_output_folder_are_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--input", str(tmp_path / "none.jsonl"), "--metrics", "f1", "--out"]
    assert main([*arguments, str(tmp_path / "out.jsonl")]) == 2
    assert "none.jsonl: does not exist" in capsys.readouterr().err
    assert main([*arguments, str(tmp_path / "no" / "out.jsonl")]) == 2
    assert "the folder" in capsys.readouterr().err


def test_relevant_documents_of_a_line_may_be_a_list(tmp_path: Path) -> None:
    rows, _ = score(tmp_path, "ndcg@10", {**RANKING, "relevant": [RANKING["ranking"][0]]})
    assert rows[0]["scores"]["ndcg@10"] == 1.0


def test_score_command_prints_its_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    score(tmp_path, "f1", ANSWER, {**ANSWER, "id": "b", "prediction": None})
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["2", "lines"]
    assert (lines[2][0], lines[2][-6:]) == ("f1", ["1", "1", "with", "a", "failed", "answer"])


def test_missing_extra_is_named_only_for_its_metric(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        names, "_known_metrics", lambda language: ({"f1": None}, {"bert_score": "needs the package 'bert-score'"})
    )
    assert "--metrics: bert_score cannot be used here: needs the package" in refused(
        tmp_path, capsys, "bert_score", ANSWER
    )
    assert "bert-score" not in refused(tmp_path, capsys, "f", ANSWER)


def test_score_command_compares_words_of_the_chosen_language(tmp_path: Path) -> None:
    line = {"id": "1", "prediction": "a well-known bridge", "references": ["a well known bridge"]}
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps(line), encoding="utf-8")
    values = {}
    for language in ("zh", "en"):
        output = tmp_path / f"{language}.jsonl"
        arguments = ["--input", str(source), "--metrics", "rouge_l", "--output", str(output), "--language", language]
        assert main(arguments) == 0
        values[language] = json.loads(output.read_text(encoding="utf-8"))["scores"]["rouge_l"]
    assert values["en"] == 2 * 2 / 7
    assert values["zh"] != values["en"]


def test_quest_eval_words_depend_on_the_language() -> None:
    line = QuestLine(("a well-known bridge",), ("a well known bridge",))
    precision = {
        language: metrics_by_name([name], language)[name].score([line])[name].values[0]
        for name in ["quest_eval_precision"]
        for language in ("zh", "en")
    }
    assert precision["en"] == pytest.approx(4 / 7)
    assert precision["zh"] != precision["en"]


@pytest.mark.parametrize(
    ("output", "summary"), [("in.jsonl", "s.json"), ("o.jsonl", "./in.jsonl"), ("o.jsonl", "o.jsonl")]
)
def test_score_command_overwrites_neither_input_nor_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], output: str, summary: str
) -> None:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps(ANSWER), encoding="utf-8")
    arguments = ["--input", "in.jsonl", "--metrics", "em", "--out", output, "--summary", summary]
    assert main(arguments) == 2
    assert "would overwrite" in capsys.readouterr().err
    assert json.loads(source.read_text(encoding="utf-8")) == ANSWER
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
