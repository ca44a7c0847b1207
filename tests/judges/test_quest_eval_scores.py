import json
from pathlib import Path
from typing import Any

import pytest

from components.judges.quest_eval_scores import NAMES, quest_scores
from components.judges.unknown_answers import Phrases
from components.records import ScoreState
from components.tokenizers.jieba_words import JiebaWords
from components.tokenizers.plain_words import PlainWords

CASES = json.loads((Path(__file__).parent / "quest_eval_cases.json").read_text(encoding="utf-8"))
PHRASES = Phrases(("无法推断", "文中未提及"))


def scores(reference: list[str], generated: list[str]) -> dict[str, float | ScoreState]:
    return quest_scores(reference, generated, PHRASES, JiebaWords())


@pytest.mark.parametrize("case", CASES, ids=[case["what"] for case in CASES])
def test_quest_eval_scores_equal_hand_computed_values(case: dict[str, Any]) -> None:
    found = scores(case["answers_reference"], case["answers_generated"])
    assert tuple(found) == NAMES
    expected = {
        "quest_eval_precision": case["plain"]["precision"],
        "quest_eval_recall": case["plain"]["recall"],
        "quest_eval_precision_crud_compat": case["compat"]["precision"],
        "quest_eval_recall_crud_compat": case["compat"]["recall"],
    }
    for name, value in expected.items():
        assert found[name] == (value if isinstance(value, str) else pytest.approx(value)), name


def test_cannot_infer_phrase_inside_a_reply_affects_only_plain_scores() -> None:
    found = scores(["杭州", "春天"], ["杭州", "根据文本无法推断"])
    assert [found[name] for name in NAMES] == [1.0, 0.5, 0.5, 1.0]


def test_tokenizer_affects_only_plain_scores() -> None:
    reference, generated = ["a well-known bridge"], ["a well known bridge"]
    by_tokenizer = [
        quest_scores(reference, generated, PHRASES, tokenizer) for tokenizer in (JiebaWords(), PlainWords())
    ]
    assert by_tokenizer[0][NAMES[0]] != by_tokenizer[1][NAMES[0]] == pytest.approx(4 / 7)
    assert by_tokenizer[0][NAMES[2]] == by_tokenizer[1][NAMES[2]]


def test_quest_eval_scores_equal_published_values(golden: list[dict[str, Any]]) -> None:
    for case in golden:
        found = scores(case["answers_reference"], case["answers_generated"])
        published = [case["precision"], case["recall"]]
        assert [found[name] for name in NAMES[2:]] == pytest.approx(published, abs=1e-9), case["id"]


def test_plain_and_published_precision_are_equal_without_white_space(golden: list[dict[str, Any]]) -> None:
    """The two are equal without whitespace if any question is answered."""
    n_equal = 0
    for case in golden:
        texts = case["answers_reference"] + case["answers_generated"]
        precision, recall, compat_precision, compat_recall = scores(
            case["answers_reference"], case["answers_generated"]
        ).values()
        assert recall == compat_recall
        if compat_recall == 0:
            assert (precision, compat_precision) == (ScoreState.NOT_APPLICABLE, 0)
        elif not any(map(str.isspace, "".join(texts))):
            assert precision == compat_precision
            n_equal += 1
    assert n_equal > 100
