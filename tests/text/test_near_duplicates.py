import pytest

from components.text.near_duplicates import contained_share

SENTENCE = "The harbour of Port Elsa was sold in 1912 to a bank."


def test_the_share_of_a_text_that_others_hold_together() -> None:
    assert contained_share(SENTENCE, [f"Before it. {SENTENCE} After it."]) == 1
    assert contained_share(SENTENCE, [SENTENCE[:26], SENTENCE[15:]]) == 1
    assert contained_share(SENTENCE, [SENTENCE[:26]]) == pytest.approx(0.4, abs=0.1)


def test_nothing_is_contained_in_nothing() -> None:
    assert contained_share(SENTENCE, []) == contained_share(SENTENCE, [""]) == contained_share("", [SENTENCE]) == 0
