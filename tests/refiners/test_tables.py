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
    def test_a_table_of_markdown_with_the_sentences_around(self, n_sentences: int, expected: str) -> None:
        assert refined(f"Zero. One. Two.\n\n{MARKDOWN}\nThree. Four.", n_sentences) in (expected, f"Zero. {expected}")

    def test_rows_of_html_are_written_in_markdown(self) -> None:
        assert refined(f"Before. {HTML} Behind.", 0) == "| x | y & z |\n| 1 |\n"

    def test_a_table_inside_a_table_belongs_to_its_cell(self) -> None:
        inner = "<table><tr><td>b</td></tr></table>"
        assert refined(f"<TABLE><tr><td>a {inner} c</td><td>d</td></tr></TABLE>", 0) == "| a b c | d |\n"

    def test_a_table_that_is_not_closed_goes_to_the_end(self) -> None:
        assert refined("Text. <table><tr><td>a<tr><td>b", 0) == "| a |\n| b |\n"

    @pytest.mark.parametrize("empty", ["<table></table>", '<table border="1"><tr><td> </td></tr></table>', "<table>"])
    def test_a_table_that_says_nothing_is_none(self, empty: str) -> None:
        assert refined(f"One. Two. {empty}") == f"One. Two. {empty}"

    def test_a_caption_is_a_row(self) -> None:
        text = "<table><caption>In <b>millions</b></caption>\n<tr><td>1</td></tr></table>"
        assert refined(text, 0) == "| In millions |\n| 1 |\n"

    def test_cells_without_rows_stay_as_they_are(self) -> None:
        assert refined("Text. <table><td>a</td></table>", 0) == "<table><td>a</td></table>\n"

    def test_marks_that_html_does_not_know(self) -> None:
        text = f"<![x> One. Two. {HTML[:-1]} > Three. Four."
        assert refined(text, 1) == "Two. \n| x | y & z |\n| 1 |\n Three. \n"

    def test_a_sentence_between_two_tables_is_there_once(self) -> None:
        assert refined(f"{HTML} Between. {HTML}").count("Between.") == 1

    def test_without_a_table_a_text_stays_as_it_is(self) -> None:
        assert refined("A | b. <tab> C.\n") == "A | b. <tab> C.\n"

    def test_only_documents_that_are_meant(self) -> None:
        text = f"One. Two.\n\n{MARKDOWN}"
        assert refined(text, 0, "tatqa/1", ("multihiertt/",)) == text
        assert refined(text, 0, "multihiertt/1", ("multihiertt/",)) == MARKDOWN

    def test_rows_of_html_stand_for_their_rows(self) -> None:
        text = f"Before. {HTML}"
        origins = ExtractedTables(0).refine(Documents(["d"], [""], [text])).origins
        spans = zip(origins.original_start.tolist(), origins.original_end.tolist(), strict=True)
        assert [text[start:end] for start, end in spans] == [
            "<tr><th>x</th><td>y &amp; z</td></tr>", "<tr><td>1</td></tr></table>",
        ]  # fmt: skip
        assert not origins.is_copy.any()

    def test_tables_are_counted(self) -> None:
        documents = Documents(["a", "b"], ["", ""], [f"{MARKDOWN}\n{HTML}", "none"])
        counts = ExtractedTables().refine(documents).counts
        assert counts == {"n_tables": 2, "n_documents_cut_down_to_tables": 1}

    def test_a_number_below_zero_is_an_error(self) -> None:
        assert ExtractedTables(-1).check() == ["n_sentences: got -1, expected 0 or more"]
