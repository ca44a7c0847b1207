from dataclasses import replace

import pytest

from components.diversity.near_duplicates import NearDuplicates
from components.tokenizers.character_bigrams import CharacterBigrams
from tests.contracts.diversity_contract import HITS, DiversityContract
from tests.contracts.fusion_contract import hits_of
from tests.contracts.passages import passages, term_table
from tests.contracts.ranking_checks import rankings_of

COMPONENT = NearDuplicates(tokenizer=CharacterBigrams())


class TestNearDuplicates(DiversityContract):
    component = COMPONENT

    def test_near_duplicate_of_a_better_hit_is_removed(self) -> None:
        """A hit without terms resembles no other hit."""
        assert rankings_of(self.diversify(HITS))[0] == [0, 2, 3, 4]


class TestOfFewTerms(DiversityContract):
    component = NearDuplicates(n=50, tokenizer=CharacterBigrams())

    def test_hit_with_fewer_terms_than_n_is_one_shingle(self) -> None:
        assert rankings_of(self.diversify(HITS))[0] == [0, 2, 3, 4]


def left(component: NearDuplicates, *texts: str) -> list[int]:
    hits = hits_of({i: 9.0 - i for i in range(len(texts))})
    return rankings_of(component.diversify(hits, passages(texts, term_table(texts, component.tokenizer))))[0]


@pytest.mark.parametrize(("threshold", "remaining"), [(0.5, [0]), (0.51, [0, 1])])
def test_resemblance_threshold_equals_hand_computed_overlap(threshold: float, remaining: list[int]) -> None:
    """Shingles of two terms: ab bc cd de and bc cd de ef fg; three of six are in both."""
    assert left(replace(COMPONENT, n=2, threshold=threshold), "a b c d e", "b c d e f g") == remaining


def test_removed_hit_does_not_remove_other_hits() -> None:
    """The third text is similar only to the second, which is removed."""
    assert left(replace(COMPONENT, n=1, threshold=0.5), "a b c", "a b c d e", "c d e f") == [0, 2]


def test_near_duplicates_beyond_the_depth_remain() -> None:
    assert left(replace(COMPONENT, depth=1), "a b c", "a b c") == [0, 1]


def test_near_duplicate_filter_rejects_zero_n_depth_and_threshold() -> None:
    found = [problem.split(",")[0] for problem in NearDuplicates(threshold=0, n=0, depth=0).check()]
    assert found == ["n: got 0", "depth: got 0", "threshold: got 0"]
