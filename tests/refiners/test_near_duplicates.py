from random import Random

from components.records import Documents
from components.refiners.near_duplicates import WithoutNearDuplicates
from tests.contracts.refiner_contract import RefinementContract

NEWS = "The central bank lowered its rates on Tuesday, for the third time this year, as had been expected by analysts."


class TestWithoutNearDuplicates(RefinementContract):
    component = WithoutNearDuplicates()

    def test_first_near_duplicate_document_remains_and_others_are_counted(self) -> None:
        texts = [NEWS, "Something else that has nothing to do with it.", f"{NEWS}!", NEWS.replace("Tues", "Fri")]
        refined = WithoutNearDuplicates(0.7).refine(Documents(list("abcd"), [""] * 4, texts))
        assert list(refined.texts) == [*texts[:2], "", ""]
        assert refined.counts == {"n_near_duplicates_left_out": 2}

    def test_document_similar_only_to_a_dropped_document_remains(self) -> None:
        """Document b is similar to a and to c, but a is not similar to c."""
        letters = "".join(Random(0).choices("abcdefghijklmnopqrstuvwxyz", k=140))
        texts = [letters[first : first + 100] for first in (0, 20, 40)]
        refined = WithoutNearDuplicates(0.6).refine(Documents(list("abc"), [""] * 3, texts)).texts
        assert [bool(text) for text in refined] == [True, False, True]

    def test_one_of_thirty_copies_remains(self) -> None:
        """The list is longer than the number of texts that are compared with one another."""
        refined = (
            WithoutNearDuplicates().refine(Documents([f"{i:02}" for i in range(30)], [""] * 30, [NEWS] * 30)).texts
        )
        assert refined == [NEWS] + [""] * 29

    def test_deduplication_rejects_a_threshold_below_one_half(self) -> None:
        assert WithoutNearDuplicates(0.1).check() == ["threshold: got 0.1, expected a similarity in [0.5, 1]"]
