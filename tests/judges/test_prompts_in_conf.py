"""The prompts in conf/judge: every placeholder is filled, and both languages request the same reply."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

import conf
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.judges.claim_checks import Check, ClaimChecker
from components.judges.nuggets import Nugget
from components.judges.quest_eval_inquiries import QuestionedText, answers_from
from components.judges.relevance_grades import GRADES
from components.records import Answer, AnswerState, JudgeInput, Kind, Passage, Request, Sample
from components.text.templates import fill
from runner.launch.compose import compose_config
from runner.pipeline.building import build_component
from runner.pipeline.settings import JudgeSettings
from tests.runner.sweeping import compose_job

FOLDER = Path(conf.__file__).parent / "judge"
PLACEHOLDERS = (
    "{question}",
    "{references}",
    "{answer}",
    "{passages}",
    "{passage}",
    "{text}",
    "{questions}",
    "{cannot_infer}",
    "{claims}",
    "{sentences}",
    "{n_questions}",
    "{nuggets}",
)
PROMPTS = (
    "instruction",
    "applicability",
    "question_prompt",
    "answer_prompt",
    "claim_prompt",
    "verdict_prompt",
    "nugget_prompt",
    "document_prompt",
    "assignment_prompt",
    "prompt",
    "prompts",
)
TEXTS = {*PROMPTS, "system", "reminder", "cannot_infer"}
KEYS = ("grade", "applicable", "questions", "answers", "claims", "verdicts", "sentences", "nuggets", "assignments")
KEYLESS = "judge.llm.api_key_env=''"
JUDGES = ("omnieval", "quest_eval", "faithfulness", "claims", "relevance", "nuggets")
WORDINGS = [f"{judge}/{language}" for judge in JUDGES for language in ("zh", "en")]


def scores(name: str) -> dict[str, Any]:
    loaded = OmegaConf.to_container(OmegaConf.load(FOLDER / f"{name}.yaml"), resolve=False)
    assert isinstance(loaded, dict)
    found: dict[str, Any] = loaded["scores"]
    return found


def prompts(score: dict[str, Any], fields: Sequence[str] = PROMPTS) -> list[str]:
    """The prompts of a score; a field may have several."""
    found = [score.get(field) or [] for field in fields]
    return [prompt for own in found for prompt in ([own] if isinstance(own, str) else own)]


@pytest.mark.parametrize("name", WORDINGS)
def test_judge_prompts_contain_no_unfilled_placeholder(name: str) -> None:
    for score in scores(name).values():
        for prompt in prompts(score):
            assert not re.search(r"\{\w+\}", fill(prompt, dict.fromkeys(PLACEHOLDERS, "")))
            assert any(f'"{key}"' in prompt for key in KEYS)


@pytest.mark.parametrize("name", JUDGES)
def test_judge_wordings_of_both_languages_differ_only_in_text(name: str) -> None:
    chinese, english = scores(f"{name}/zh"), scores(f"{name}/en")
    assert list(chinese) == list(english)
    for key, score in chinese.items():
        assert {f: v for f, v in score.items() if f not in TEXTS} == {
            f: v for f, v in english[key].items() if f not in TEXTS
        }
        for field in PROMPTS:
            shown, shown_in_english = (
                [{name for name in PLACEHOLDERS if name in prompt} for prompt in prompts(side, [field])]
                for side in (score, english[key])
            )
            assert shown == shown_in_english, (key, field)


def composed(*overrides: str) -> Any:
    return compose_job(*overrides).config["judge"]["scores"]


@pytest.mark.parametrize("name", JUDGES)
class TestTheLanguage:
    def test_language_selects_the_judge_wording_or_english(self, name: str) -> None:
        """Languages without a wording use English, which models understand with texts in any language."""
        by_language = {
            language: composed(f"judge={name}", f"language={language}") for language in ("zh", "en", "de", "multi")
        }
        for language, wording in (("zh", "zh"), ("en", "en"), ("de", "en"), ("multi", "en")):
            for key, score in scores(f"{name}/{wording}").items():
                composed_texts = {field: by_language[language][key].get(field) for field in TEXTS}
                assert composed_texts == {field: score.get(field) for field in TEXTS}, (language, key)

    def test_named_judge_overrides_the_language(self, name: str) -> None:
        assert composed(f"judge={name}_zh", "language=en", "tokenizer=jieba").keys() == scores(f"{name}/zh").keys()
        for language, other in (("en", "zh"), ("zh", "en")):
            found = composed(f"judge={name}_{other}", f"language={language}")
            named = scores(f"{name}/{other}")
            assert {key: score["system"] for key, score in found.items()} == {
                key: score["system"] for key, score in named.items()
            }

    def test_user_wording_overrides_only_the_given_texts(self, name: str, tmp_path: Path) -> None:
        (tmp_path / "judge" / name).mkdir(parents=True)
        key = next(iter(scores(f"{name}/en")))
        wording = f"scores: {{{key}: {{system: Sie prüfen genau.}}}}"
        (tmp_path / "judge" / name / "de.yaml").write_text(wording, encoding="utf-8")
        own = compose_config([f"hydra.searchpath=[file://{tmp_path}]", f"judge={name}", "language=de"])
        english = composed(f"judge={name}", "language=en")
        assert own["judge"]["scores"][key]["system"] == "Sie prüfen genau."
        assert own["judge"]["scores"][key]["reminder"] == english[key]["reminder"]


def test_quest_eval_compares_answers_by_words_of_the_language() -> None:
    tokenizers = {
        language: composed("judge=quest_eval", f"language={language}")["quest_eval"]["tokenizer"]["_target_"]
        for language in ("zh", "en")
    }
    assert tokenizers["zh"].endswith("JiebaWords")
    assert tokenizers["en"].endswith("PlainWords")


@pytest.mark.parametrize("name", ["relevance/zh", "relevance/en"])
def test_every_relevance_grade_is_defined_in_the_prompt(name: str) -> None:
    (score,) = scores(name).values()
    assert sorted(map(int, re.findall(r"^(\d)[：:]", score["prompt"], re.MULTILINE))) == list(GRADES)


@pytest.mark.parametrize("name", ["omnieval/zh", "omnieval/en"])
def test_every_omnieval_grade_is_defined_in_the_instruction(name: str) -> None:
    for key, score in scores(name).items():
        defined = re.findall(r"^(-?\d+)[：:]", score["instruction"], re.MULTILINE)
        assert sorted(map(int, defined)) == sorted(score["grades"]), key


def test_documented_user_option_joins_two_judges(tmp_path: Path) -> None:
    """The example in docs/judges.md."""
    page = (FOLDER.parents[1] / "docs" / "judges.md").read_text(encoding="utf-8")
    (tmp_path / "judge").mkdir()
    (tmp_path / "judge" / "both.yaml").write_text(page.split("# my_conf/judge/both.yaml")[1].split("```")[0], "utf-8")
    config = compose_config([f"hydra.searchpath=[file://{tmp_path}]", "judge=both", "judge.llm.model=m", KEYLESS])
    settings: JudgeSettings = build_component(config["judge"], JudgeSettings, "judge")
    assert {"faithfulness", "context_recall", "overall_f1"} <= {
        n for own in settings.scores.values() for n in own.names
    }


@pytest.mark.parametrize("language", ["zh", "en"])
def test_claim_judges_share_their_wording_and_settings(language: str) -> None:
    faithfulness, claims = scores(f"faithfulness/{language}")["faithfulness"], scores(f"claims/{language}")["claims"]
    shared = ("system", "claim_prompt", "verdict_prompt", "reminder", "max_claims", "one_by_one", "max_attempts")
    assert {field: faithfulness[field] for field in shared} == {field: claims[field] for field in shared}


def copying(requests: Sequence[Request]) -> list[Answer]:
    """Answer as a small model that copies the last line of its prompt, with the requested form."""
    lines = [request.messages[-1].content.splitlines()[-1] for request in requests]
    assert all('{"' in line for line in lines)
    return [Answer(each.id, AnswerState.OK, line) for each, line in zip(requests, lines, strict=True)]


@pytest.mark.parametrize("language", ["zh", "en"])
def test_copied_reply_form_is_not_a_verdict(language: str) -> None:
    sample = Sample("s", "", Kind.QA, "Which?", ())
    item = JudgeInput(sample, "An answer.", (Passage("One. Two. Three. Four. Five."),))
    faithfulness, claims, nuggets = (built(name, language) for name in ("faithfulness", "claims", "nuggets"))
    (quest,) = scores(f"quest_eval/{language}").values()
    inquiries: list[Inquiry[Any]] = [
        nuggets["nuggets"]._ask_assignments(item, [Nugget("a", True), Nugget("b", False)]),
        faithfulness["context_relevance"]._inquiry(item, ["One.", "Two.", "Three.", "Four.", "Five."]),
        answers_from(QuestionedText(sample, "A text.", ("a?", "b?")), "", quest["answer_prompt"], "no"),
    ]
    check = Check("check", sample, ("a", "b"), ("A text.",))
    judges = claims["claims"], faithfulness["faithfulness"], faithfulness["context_recall"]
    inquiries += [ClaimChecker.from_judge(judge)._ask_verdicts(check) for judge in judges]
    for read in ask_until_readable(inquiries, copying, "Again.", 1):
        assert isinstance(read, UnreadableReply)


def built(name: str, language: str) -> Mapping[str, Any]:
    config = compose_config([f"judge={name}", f"language={language}", "judge.llm.model=m", KEYLESS])
    settings: JudgeSettings = build_component(config["judge"], JudgeSettings, "judge")
    return settings.scores
