"""The plan shows what the data leaves out, the stages, and components made for another language."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from runner.console.display import SafeConsole
from runner.engine.plan import Plan
from runner.output.plan_report import data_losses, show_plan, version_lines
from tests.runner.sweeping import own_data, plan_small, run_small

ENGLISH = {"a": "The bridge was opened in 1932, and it is one of the oldest in the country."}
GERMAN = {"a": "Die Brücke wurde im Jahr 1932 eröffnet und ist eine der ältesten des Landes."}


def plan(folder: Path, texts: dict[str, str], question: str, *overrides: str) -> str:
    data = own_data(folder, texts, [{"id": "1", "question": question, "references": ["1932"]}])
    output = io.StringIO()
    show_plan(Console(file=output, width=1000), plan_small(folder, (*data, *overrides)), by_stage=False)
    return output.getvalue()


def test_parts_for_another_language_are_named_with_the_fix(tmp_path: Path) -> None:
    shown = plan(tmp_path, ENGLISH, "When was the bridge opened?", "llm=scripted")
    assert "jsonl: 1 document, 1 sample in English" in shown
    assert "the texts look English, but these components are made for other languages:" in shown
    for misfit in ("metrics (Bleu)", "metrics (JiebaWords)", "prompt (PromptByKind)", "retriever (RjiebaWords)"):
        assert misfit in shown
    assert "Add language=en" in shown


@pytest.mark.parametrize(
    ("texts", "question", "language"),
    [(ENGLISH, "When was the bridge opened?", "en"), (GERMAN, "Wann wurde die Brücke eröffnet?", "de")],
)
def test_language_switch_resolves_the_language_hint(
    tmp_path: Path, texts: dict[str, str], question: str, language: str
) -> None:
    assert "made for others" not in plan(tmp_path, texts, question, f"language={language}")


def test_active_language_switch_is_not_suggested(tmp_path: Path) -> None:
    shown = plan(tmp_path, ENGLISH, "When was the bridge opened?", "language=en", "retriever=arms")
    assert "made for other languages: retriever (CharacterBigrams). Choose others, unless this is intended." in shown


def test_language_hint_names_metrics_left_in_the_old_language(tmp_path: Path) -> None:
    shown = plan(tmp_path, ENGLISH, "When was the bridge opened?", "tokenizer=english", "prompt=english")
    assert "made for other languages: metrics (JiebaWords), metrics (Bleu). Add language=en" in shown


def test_english_words_are_reported_for_chinese_texts(tmp_path: Path) -> None:
    shown = plan(
        tmp_path, {"a": "大桥于1932年通车，是全国最古老的桥之一。"}, "大桥是什么时候通车的？", "tokenizer=english"
    )
    assert "the texts look Chinese, but these components are made for other languages:" in shown
    assert "EnglishStems" in shown


def test_explicit_multilingual_option_suppresses_the_language_hint(tmp_path: Path) -> None:
    texts = {**{f"{i}": ENGLISH["a"] for i in range(9)}, "zh": "大桥于1932年通车，是全国最古老的桥之一。"}
    assert "Add language=en" in plan(tmp_path, texts, "When was the bridge opened?")
    shown = plan(tmp_path, texts, "When was the bridge opened?", "language=multi")
    assert "in English" not in shown
    assert "made for" not in shown


JUDGE = ("llm=scripted", "judge.llm.model=a-judge", "judge.llm.api_key_env=''")


def test_judge_language_follows_the_switch_unless_named(tmp_path: Path) -> None:
    question = "When was the bridge opened?"
    assert "judge (Graded)" in plan(tmp_path, ENGLISH, question, "judge=omnieval", *JUDGE)
    assert "made for others" not in plan(tmp_path, ENGLISH, question, "judge=omnieval", "language=en", *JUDGE)
    shown = plan(tmp_path, ENGLISH, question, "judge=quest_eval_zh", "language=en", *JUDGE)
    assert "made for other languages: judge (QuestEval). Choose" in shown


def test_unrecognized_language_suggests_the_multilingual_option(tmp_path: Path) -> None:
    russian = {"a": "Мост был открыт в 1932 году и является одним из старейших в стране."}
    shown = plan(tmp_path, russian, "Когда был открыт мост?")
    assert (
        "in several languages, or in one that we do not recognize, but these components are made for a single language:"
        in shown
    )
    assert "Add language=multi" in shown
    assert "made for one" not in plan(tmp_path, russian, "Когда был открыт мост?", "language=multi")


def test_language_hint_ignores_components_no_cell_uses(tmp_path: Path) -> None:
    overrides = ("tokenizer=english", "llm=none", "metrics=retrieval")
    assert "made for others" not in plan(tmp_path, ENGLISH, "When was the bridge opened?", *overrides)


def test_unread_document_files_are_listed_by_extension(tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    for name in ("a.md", "b.csv", "c.docx", "d.docx", "e.xlsx"):
        (documents / name).write_text("A text.")
    (tmp_path / "samples.jsonl").write_text('{"id": "1", "question": "What?"}')
    places = (f"dataset.documents={documents}", f"dataset.samples={tmp_path / 'samples.jsonl'}")
    output = io.StringIO()
    show_plan(SafeConsole(file=output, width=400), plan_small(tmp_path, ("dataset=jsonl", *places)), by_stage=False)
    left_out = "left out: 3 unsupported files (2 .docx, 1 .xlsx), 1 empty table (parser=office reads .docx, .xlsx)"
    assert left_out in output.getvalue()


def test_data_losses_separate_omitted_unfound_and_incomplete_data() -> None:
    notes = {"n_views": 1, "n_facts_not_found": 1, "n_gold_passages_not_found": 3, "n_split_files_cut_off": 2}
    assert data_losses({**notes, "n_blank_passages": 0}) == {
        "left out": "1 view",
        "not found": "3 gold passages, 1 fact",
        "incomplete": "2 truncated split files",
    }


def test_samples_that_repeat_an_earlier_one_are_counted(tmp_path: Path) -> None:
    (tmp_path / "documents.jsonl").write_text('{"id": "a", "text": "The bridge was opened in 1932."}')
    (tmp_path / "samples.jsonl").write_text("".join(f'{{"id": "{n}", "question": "When?"}}\n' for n in range(3)))
    places = (f"dataset.documents={tmp_path}/documents.jsonl", f"dataset.samples={tmp_path}/samples.jsonl")
    output = io.StringIO()
    show_plan(SafeConsole(file=output, width=400), plan_small(tmp_path, ("dataset=jsonl", *places)), by_stage=False)
    assert "3 samples in English; 2 samples with the question and references of an earlier one" in output.getvalue()


def test_plan_table_is_shown_only_by_stage(tmp_path: Path) -> None:
    plan = plan_small(tmp_path, ("top_k=2",), ("top_k=4",))
    lines = {}
    for by_stage in (False, True):
        output = io.StringIO()
        show_plan(SafeConsole(file=output, width=400), plan, by_stage=by_stage)
        lines[by_stage] = output.getvalue().splitlines()
    assert lines[False] == lines[True][: len(lines[False])]
    assert lines[False][-2].startswith("Plan: 2 cells, no request to a language model")
    n_stages = int(lines[True][-1].split()[2])
    assert lines[False][-1].strip() == f"{n_stages} stages, 0 of them cached, 2 computed for this plan"
    table = lines[True][len(lines[False]) :]
    assert [line.split()[1:] for line in table if line.startswith("result ")] == [["2", "2", "0", "2"]]
    assert any(line.startswith("words of references ") for line in table)
    assert not any("_" in line for line in table), "kinds of stages are names in files"


def test_plan_of_one_cell_is_not_a_table(tmp_path: Path) -> None:
    output = io.StringIO()
    show_plan(SafeConsole(file=output, width=400), plan_small(tmp_path, ("top_k=2",)), by_stage=True)
    assert len(output.getvalue().splitlines()) == 3


def test_plan_reports_the_unchanged_share_of_a_grown_corpus(tmp_path: Path) -> None:
    def plan(n_documents: int) -> str:
        texts = {f"document {number}": f"Text number {number}." for number in range(n_documents)}
        cell = (*own_data(tmp_path, texts, [{"id": "1", "question": "What?"}]), "run.documents_per_block=2")
        output = io.StringIO()
        show_plan(SafeConsole(file=output, width=400), plan_small(tmp_path, cell), by_stage=False)
        run_small(tmp_path, cell, sweep_id=str(n_documents))
        return output.getvalue()

    assert "blocks of documents" not in plan(6)
    assert "; 3 of 4 blocks of documents are unchanged" in plan(7)
    assert "blocks of documents" not in plan(7)


def test_unneeded_fresh_kinds_are_reported() -> None:
    empty = Plan((), (), ())
    assert list(version_lines(empty, ["answers"])) == [
        "run.fresh: no cached result (answers) was computed with other library versions, so none is computed again"
    ]
    assert not list(version_lines(empty, []))
