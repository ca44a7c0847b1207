from dataclasses import replace

import pytest

from components.datasets.demo import Demo
from components.errors import DataError
from components.examples.drawn import DrawnExamples
from components.records import Evidence, Turn
from components.tokenizers.plain_words import PlainWords
from tests.contracts.examples_contract import DOCUMENTS, POOL, SAMPLES, ExamplesContract


class TestDrawnExamples(ExamplesContract):
    component = DrawnExamples(Demo(), n=3)


def test_example_draw_depends_only_on_the_seed_and_the_kind() -> None:
    first, second, _ = DrawnExamples(Demo(), n=3).choose(SAMPLES, POOL, DOCUMENTS).tolist()
    assert first == second
    others = [DrawnExamples(Demo(), n=3, seed=seed).choose(SAMPLES, POOL, DOCUMENTS).tolist() for seed in range(5)]
    assert others[0][0] == first
    assert len({tuple(rows[0]) for rows in others}) > 1


@pytest.mark.parametrize(
    "changes",
    [
        {"references": ()},
        {"gold": ()},
        {"gold": (Evidence("elsewhere"),)},
        {"question": "word " * 60},
        {"question": SAMPLES[0].question},
        {"question": f" {SAMPLES[0].question.upper()} !"},
    ],
    ids=["references", "gold", "gold elsewhere", "length", "same question", "same question, otherwise written"],
)
def test_unusable_samples_are_skipped_as_examples(changes: dict[str, object]) -> None:
    chooser = DrawnExamples(Demo(), n=3, max_tokens=50, tokenizer=PlainWords())
    chosen = chooser.choose(SAMPLES[:1], POOL, DOCUMENTS)[0, 0]
    changed = [replace(sample, **changes) if place == chosen else sample for place, sample in enumerate(POOL)]  # type: ignore[arg-type]
    assert chosen not in chooser.choose(SAMPLES[:1], changed, DOCUMENTS)


def test_follow_up_question_is_the_same_only_with_equal_history() -> None:
    sample = replace(SAMPLES[0], history=(Turn("Which bridge is red?", "The north bridge."),))
    other = replace(POOL[2], question=sample.question, history=(Turn("Which mill is old?", "The east mill."),))
    chooser = DrawnExamples(Demo(), n=1)
    assert chooser.choose([sample], [other], DOCUMENTS).tolist() == [[0]]
    with pytest.raises(DataError):
        chooser.choose([sample], [replace(other, history=sample.history)], DOCUMENTS)


def test_too_few_examples_are_an_error_that_names_the_setting() -> None:
    with pytest.raises(DataError, match=r"found 4 examples for sample 'a' among 10 samples .* expected examples.n=5"):
        DrawnExamples(Demo(), n=5).choose(SAMPLES, POOL, DOCUMENTS)


def test_drawn_examples_reject_negative_n_zero_tokens_and_no_dataset() -> None:
    assert DrawnExamples(None, n=-1, max_tokens=0).check() == [
        "n: got -1, expected at least 0",
        "max_tokens: got 0, expected at least 1",
        "dataset: got none, expected a data set with the examples",
    ]
