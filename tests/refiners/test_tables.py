import pytest

from components.records import Documents
from components.refiners.tables import ExtractedTables
from tests.contracts.refiner_contract import RefinementContract

MARKDOWN = "| a | b |\n|---|---|\n| 1 | 2 |\n"
HTML = "<table><tr><th>x</th><td>y &amp; z</td></tr><tr><td>1</td></tr></table>"


def refined(text: str, n_sentences: int = 1, document_id: str = "d", prefixes: tuple[str, ...] = ()) -> str:
    documents = Documents([document_id], [""], [text])
    return ExtractedTables(n_sentences, prefixes).refine(documents).texts[0]


class TestExtractedTables(RefinementContract):
    component = ExtractedTables()

    @pytest.mark.parametrize(
        ("n_sentences", "expected"),
        [(0, MARKDOWN), (1, f"Two.\n\n{MARKDOWN}Three. \n"), (2, f"One. \nTwo.\n\n{MARKDOWN}Three. \nFour.\n")],
    )
    def test_markdown_table_is_extracted_with_surrounding_sentences(self, n_sentences: int, expected: str) -> None:
        assert refined(f"Zero. One. Two.\n\n{MARKDOWN}\nThree. Four.", n_sentences) in (expected, f"Zero. {expected}")

    def test_rows_of_html_are_written_in_markdown(self) -> None:
        assert refined(f"Before. {HTML} Behind.", 0) == "| x | y & z |\n| 1 |\n"

    def test_nested_html_table_belongs_to_its_cell(self) -> None:
        inner = "<table><tr><td>b</td></tr></table>"
        assert refined(f"<TABLE><tr><td>a {inner} c</td><td>d</td></tr></TABLE>", 0) == "| a b c | d |\n"

    def test_unclosed_table_extends_to_the_end_of_the_text(self) -> None:
        assert refined("Text. <table><tr><td>a<tr><td>b", 0) == "| a |\n| b |\n"

    @pytest.mark.parametrize("empty", ["<table></table>", '<table border="1"><tr><td> </td></tr></table>', "<table>"])
    def test_table_without_content_is_not_extracted(self, empty: str) -> None:
        assert refined(f"One. Two. {empty}") == f"One. Two. {empty}"

    def test_table_caption_becomes_a_row(self) -> None:
        text = "<table><caption>In <b>millions</b></caption>\n<tr><td>1</td></tr></table>"
        assert refined(text, 0) == "| In millions |\n| 1 |\n"

    def test_table_cells_without_rows_are_unchanged(self) -> None:
        assert refined("Text. <table><td>a</td></table>", 0) == "<table><td>a</td></table>\n"

    def test_html_tables_with_malformed_marks_are_extracted(self) -> None:
        text = f"<![x> One. Two. {HTML[:-1]} > Three. Four."
        assert refined(text, 1) == "Two. \n| x | y & z |\n| 1 |\n Three. \n"

    def test_sentence_between_two_tables_is_extracted_once(self) -> None:
        assert refined(f"{HTML} Between. {HTML}").count("Between.") == 1

    def test_text_without_a_table_is_unchanged(self) -> None:
        assert refined("A | b. <tab> C.\n") == "A | b. <tab> C.\n"

    def test_tables_are_extracted_only_from_documents_with_a_given_prefix(self) -> None:
        text = f"One. Two.\n\n{MARKDOWN}"
        assert refined(text, 0, "tatqa/1", ("multihiertt/",)) == text
        assert refined(text, 0, "multihiertt/1", ("multihiertt/",)) == MARKDOWN

    def test_extracted_html_rows_originate_from_their_source_rows(self) -> None:
        text = f"Before. {HTML}"
        origins = ExtractedTables(0).refine(Documents(["d"], [""], [text])).origins
        spans = zip(origins.original_start.tolist(), origins.original_end.tolist(), strict=True)
        assert [text[start:end] for start, end in spans] == [
            "<tr><th>x</th><td>y &amp; z</td></tr>", "<tr><td>1</td></tr></table>",
        ]  # fmt: skip
        assert not origins.is_copy.any()

    def test_refiner_counts_tables_and_documents(self) -> None:
        documents = Documents(["a", "b"], ["", ""], [f"{MARKDOWN}\n{HTML}", "none"])
        counts = ExtractedTables().refine(documents).counts
        assert counts == {"n_tables": 2, "n_documents_cut_down_to_tables": 1}

    def test_extracted_tables_reject_a_negative_sentence_count(self) -> None:
        assert ExtractedTables(-1).check() == ["n_sentences: got -1, expected at least 0"]
