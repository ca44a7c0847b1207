"""A sweep says which language its texts are in, and what is made for another one."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from runner.output.plan_report import show_plan
from tests.runner.sweeping import own_data, plan_small

ENGLISH = {"a": "The bridge was opened in 1932, and it is one of the oldest in the country."}
GERMAN = {"a": "Die Brücke wurde im Jahr 1932 eröffnet und ist eine der ältesten des Landes."}


def plan(folder: Path, texts: dict[str, str], question: str, *overrides: str) -> str:
    data = own_data(folder, texts, [{"id": "1", "question": question, "references": ["1932"]}])
    output = io.StringIO()
    show_plan(Console(file=output, width=1000), plan_small(folder, (*data, *overrides)), by_stage=False)
    return output.getvalue()


def test_what_does_not_fit_is_named_with_the_switch_that_mends_it(tmp_path: Path) -> None:
    shown = plan(tmp_path, ENGLISH, "When was the bridge opened?", "llm=scripted")
    assert "jsonl: 1 document, 1 sample in English" in shown
    assert "the texts look English, and these are made for others:" in shown
    for misfit in ("metrics (Bleu)", "metrics (JiebaWords)", "prompt (PromptByKind)", "retriever (RjiebaWords)"):
        assert misfit in shown
    assert "Add language=en" in shown


@pytest.mark.parametrize(
    ("texts", "question", "language"),
    [(ENGLISH, "When was the bridge opened?", "en"), (GERMAN, "Wann wurde die Brücke eröffnet?", "de")],
)
def test_the_switch_mends_all(tmp_path: Path, texts: dict[str, str], question: str, language: str) -> None:
    assert "made for others" not in plan(tmp_path, texts, question, f"language={language}")


def test_no_switch_is_named_that_is_there_already(tmp_path: Path) -> None:
    shown = plan(tmp_path, ENGLISH, "When was the bridge opened?", "language=en", "retriever=arms")
    assert "made for others: retriever (CharacterBigrams). Choose other ones, unless they are meant." in shown


def test_tokenizer_and_prompt_alone_leave_the_metrics(tmp_path: Path) -> None:
    shown = plan(tmp_path, ENGLISH, "When was the bridge opened?", "tokenizer=english", "prompt=english")
    assert "made for others: metrics (JiebaWords), metrics (Bleu). Add language=en" in shown


def test_english_words_do_not_fit_chinese_texts(tmp_path: Path) -> None:
    shown = plan(
        tmp_path, {"a": "大桥于1932年通车，是全国最古老的桥之一。"}, "大桥是什么时候通车的？", "tokenizer=english"
    )
    assert "the texts look Chinese, and these are made for others:" in shown
    assert "EnglishStems" in shown


def test_several_languages_that_a_user_names_are_not_taken_for_the_commonest_of_them(tmp_path: Path) -> None:
    texts = {**{f"{i}": ENGLISH["a"] for i in range(9)}, "zh": "大桥于1932年通车，是全国最古老的桥之一。"}
    assert "Add language=en" in plan(tmp_path, texts, "When was the bridge opened?")
    shown = plan(tmp_path, texts, "When was the bridge opened?", "language=multi")
    assert "in English" in shown
    assert "made for" not in shown


JUDGE = ("llm=scripted", "judge.llm.model=a-judge", "judge.llm.api_key_env=''")


def test_a_judge_follows_the_switch_unless_it_is_named(tmp_path: Path) -> None:
    question = "When was the bridge opened?"
    assert "judge (Graded)" in plan(tmp_path, ENGLISH, question, "judge=omnieval", *JUDGE)
    assert "made for others" not in plan(tmp_path, ENGLISH, question, "judge=omnieval", "language=en", *JUDGE)
    shown = plan(tmp_path, ENGLISH, question, "judge=quest_eval_zh", "language=en", *JUDGE)
    assert "made for others: judge (QuestEval). Choose" in shown


def test_texts_whose_language_is_not_recognised_are_not_silently_taken_for_chinese(tmp_path: Path) -> None:
    russian = {"a": "Мост был открыт в 1932 году и является одним из старейших в стране."}
    shown = plan(tmp_path, russian, "Когда был открыт мост?")
    assert "in several languages, or in one that is not recognised, and these are made for one:" in shown
    assert "Add language=multi" in shown
    assert "made for one" not in plan(tmp_path, russian, "Когда был открыт мост?", "language=multi")


def test_nothing_is_said_of_what_no_cell_uses(tmp_path: Path) -> None:
    overrides = ("tokenizer=english", "llm=none", "metrics=retrieval")
    assert "made for others" not in plan(tmp_path, ENGLISH, "When was the bridge opened?", *overrides)
