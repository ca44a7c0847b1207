from components.records import Documents
from components.refiners.headings import PrependedHeadings
from tests.contracts.refiner_contract import RefinementContract


def refined(text: str, separator: str = " > ") -> str:
    return PrependedHeadings(separator).refine(Documents(["d"], [""], [text])).texts[0]


class TestPrependedHeadings(RefinementContract):
    component = PrependedHeadings()

    def test_every_block_is_prefixed_with_its_headings(self) -> None:
        text = "Intro.\n\n# One\n\nText.\n\n## Two\n\n- a\n- b\n\nEnd.\n\n# Three\n\nLast."
        assert refined(text, "/").split("\n\n") == [
            "Intro.", "One\nText.", "One/Two\n- a\n- b", "One/Two\nEnd.", "Three\nLast.",
        ]  # fmt: skip

    def test_headings_without_text_remain(self) -> None:
        assert refined("# One\n## Two\n## Three\n\nText.\n\n# Four") == "One > Two\nOne > Three\nText.\n\nFour\n"

    def test_text_without_headings_is_unchanged(self) -> None:
        text = "No heading.\n\n    #indented\n\n[link]: http://somewhere  \n"
        assert refined(text) == text

    def test_link_definition_stays_in_the_text(self) -> None:
        assert "[link]: there" in refined("# One\n\n[link]: there\n\nText.")

    def test_refiner_counts_headings_and_documents(self) -> None:
        documents = Documents(["a", "b"], ["", ""], ["# One\n\nText\n\nUnderlined\n---\nText", "none"])
        assert PrependedHeadings().refine(documents).counts == {"n_headings": 2, "n_documents_with_headings": 1}
