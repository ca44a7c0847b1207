"""Words for the reasons why a metric leaves out samples."""

from components.records import ScoreState
from runner.console.excluded_samples import excluded_texts


def test_every_reason_of_exclusion_has_its_own_text() -> None:
    states = [state for state in ScoreState if state is not ScoreState.VALUE]
    texts = excluded_texts(dict.fromkeys(states, 1_200))
    assert len(set(texts)) == len(states)
    assert all(text.startswith("1,200 ") and "_" not in text for text in texts)


def test_excluded_texts_drop_omitted_reasons_and_print_unknown_names() -> None:
    assert excluded_texts({"no_gold": 2, "not_drawn": 5, "lost": 1}, omitted=[ScoreState.NOT_DRAWN]) == [
        "2 without gold",
        "1 lost",
    ]
