"""The prompts in conf/judge: every place is filled, and the two languages ask for the same."""

import re
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

import conf
from components.text.templates import fill

FOLDER = Path(conf.__file__).parent / "judge"
PLACES = (
    "{question}",
    "{references}",
    "{answer}",
    "{passages}",
    "{passage}",
    "{text}",
    "{questions}",
    "{cannot_infer}",
)
PROMPTS = ("instruction", "applicability", "question_prompt", "answer_prompt")
TEXTS = {*PROMPTS, "system", "reminder", "cannot_infer"}


def scores(name: str) -> dict[str, Any]:
    loaded = OmegaConf.to_container(OmegaConf.load(FOLDER / f"{name}.yaml"), resolve=False)
    assert isinstance(loaded, dict)
    found: dict[str, Any] = loaded["scores"]
    return found


@pytest.mark.parametrize("name", ["omnieval", "omnieval_en", "quest_eval", "quest_eval_en"])
def test_no_place_stays_empty(name: str) -> None:
    for score in scores(name).values():
        for prompt in filter(None, (score.get(field, "") for field in PROMPTS)):
            assert not re.search(r"\{\w+\}", fill(prompt, dict.fromkeys(PLACES, "")))
            assert any(key in prompt for key in ('"grade"', '"applicable"', '"questions"', '"answers"'))


@pytest.mark.parametrize("name", ["omnieval", "quest_eval"])
def test_both_languages_ask_for_the_same(name: str) -> None:
    chinese, english = scores(name), scores(f"{name}_en")
    assert list(chinese) == list(english)
    for key, score in chinese.items():
        assert {f: v for f, v in score.items() if f not in TEXTS} == {
            f: v for f, v in english[key].items() if f not in TEXTS
        }
        for prompt in PROMPTS:
            shown, shown_in_english = (
                {place for place in PLACES if place in side.get(prompt, "")} for side in (score, english[key])
            )
            assert shown == shown_in_english, (key, prompt)


@pytest.mark.parametrize("name", ["omnieval", "omnieval_en"])
def test_every_grade_is_defined(name: str) -> None:
    for key, score in scores(name).items():
        defined = re.findall(r"^(-?\d+)[：:]", score["instruction"], re.MULTILINE)
        assert sorted(map(int, defined)) == sorted(score["grades"]), key
