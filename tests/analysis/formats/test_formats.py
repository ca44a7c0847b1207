"""Tables in Markdown, LaTeX and CSV: cells are shown verbatim, and marks show what was tested."""

import argparse
import csv
import re

import pytest

from analysis.formats import BOLD, STAR, Document, Grid, Marks, comma_separated, latex
from analysis.formats import markdown_tables as markdown
from analysis.table_output import TableColumn, add_format, make_console, show_table

NASTY = "a|b <script>alert(1)</script> 50% & #1 \\cmd{x} $x_1^2$ ~ *bold* [link](u) `c`\nnext\tline"

GRID = Grid(
    title="rouge_l",
    heads=["cell", "mean", "95% interval"],
    are_numbers=[False, True, True],
    rows=[["best", "0.50", ""], ["worse", "0.40", "-0.12 -0.08"], ["undecided", "0.49", "-0.02 +0.01"]],
    marks=Marks([BOLD, STAR, ""], bold="the best", star="worse at 0.05"),
)


def cells(text: str) -> Grid:
    return Grid("", ["cell"], [False], [[text]])


class TestMarkdown:
    def test_markdown_marks_rows_and_explains_the_marks(self) -> None:
        assert markdown.table(GRID).splitlines() == [
            r"**rouge\_l**",
            "",
            "| cell | mean | 95% interval |",
            "| :--- | ---: | ---: |",
            "| **best** | **0.50** |  |",
            r"| worse | 0.40\* | -0.12 -0.08 |",
            "| undecided | 0.49 | -0.02 +0.01 |",
            "",
            "Bold: the best.",
            "",
            r"\*: worse at 0.05.",
        ]

    def test_markdown_table_escapes_markup_in_one_cell(self) -> None:
        line = markdown.table(cells(NASTY)).splitlines()[2]
        assert len(re.findall(r"(?<!\\)\|", line)) == 2
        assert "<" not in line
        assert r"\*bold\*" in line
        assert r"\[link\](u)" in line
        assert r"\`c\` next line" in line


class TestLatex:
    def test_latex_is_a_float_with_rules_and_a_caption(self) -> None:
        text = latex.table(GRID)
        assert text.splitlines()[:6] == [
            r"\begin{table}",
            r"\centering",
            r"\caption{rouge\_l. Bold: the best. *: worse at 0.05.}",
            r"\label{tab:rouge-l}",
            r"\begin{tabular}{lrr}",
            r"\toprule",
        ]
        assert r"\textbf{best} & \textbf{0.50} &  \\" in text
        assert r"worse & 0.40$^{*}$ & {[}$-$0.12, $-$0.08{]} \\" in text

    def test_latex_has_at_most_eight_columns_and_names_omitted_columns(self) -> None:
        heads = ["cell", "axis", *(f"n{place}" for place in range(9))]
        are_numbers = [False, False, *[True] * 9]
        text = latex.table(Grid("wide", heads, are_numbers, [["x"] * 11], optional=[3, 5], ids=[0]))
        assert r"axis & n0 & n2 & n4 & n5 & n6 & n7 & n8 \\" in text
        assert text.splitlines()[-1] == latex.note("Columns left out: n1, n3. --format csv has all of them.")

    def test_latex_drops_the_last_columns_but_never_the_starred_number(self) -> None:
        heads = [*(f"axis{place}" for place in range(9)), "mean"]
        marks = Marks([STAR], star="worse")
        text = latex.table(Grid("", heads, [False] * 9 + [True], [["x"] * 9 + ["0.5"]], marks))
        assert r"axis0 & axis1 & axis2 & axis3 & axis4 & axis5 & axis6 & mean \\" in text
        assert "0.5$^{*}$" in text

    def test_latex_omits_cell_ids_if_other_columns_name_the_rows(self) -> None:
        rows = [["a1b2c3d4", "0.5"]]
        assert "a1b2c3d4" in latex.table(Grid("", ["cell", "mean"], [False, True], rows, ids=[0]))
        named = Grid("", ["cell", "retriever", "mean"], [False, False, True], [["a1b2c3d4", "bm25", "0.5"]], ids=[0])
        assert "a1b2c3d4" not in latex.table(named)

    @pytest.mark.parametrize(
        ("title", "label"),
        [("crud_rag/5: retrievers", "tab:crud-rag-5-retrievers"), ("表", "tab:results"), ("x" * 99, "tab:" + "x" * 60)],
    )
    def test_latex_label_is_made_of_the_title(self, title: str, label: str) -> None:
        assert latex.label(title) == label

    def test_latex_special_characters_are_escaped(self) -> None:
        own = latex.escape(NASTY)
        known = (
            r"\\(textbackslash|textasciicircum|textasciitilde|textless|textgreater|textbar)\{\}|\\[{}$&#%_]|\{[\[\]]\}"
        )
        assert re.search(r"[\\{}$&#%_^~<>|\[\]]", re.sub(known, "", own)) is None
        assert own.startswith(r"a\textbar{}b \textless{}script\textgreater{}")

    def test_latex_braces_and_environments_are_balanced(self) -> None:
        for text in (latex.table(GRID), latex.table(cells(NASTY))):
            bare = re.sub(r"\\[{}]", "", text)
            assert bare.count("{") == bare.count("}")
            for name in ("table", "tabular"):
                assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") == 1


class TestCsv:
    def test_csv_has_columns_for_the_ends_of_intervals_and_for_the_marks(self) -> None:
        assert list(csv.reader(comma_separated.table(GRID).splitlines())) == [
            ["cell", "mean", "95% interval low", "95% interval high", "mark"],
            ["best", "0.50", "", "", "bold"],
            ["worse", "0.40", "-0.12", "-0.08", "*"],
            ["undecided", "0.49", "-0.02", "+0.01", ""],
        ]

    @pytest.mark.parametrize(
        ("cell", "field"),
        [("=1+1", "'=1+1"), ("@SUM(A1)", "'@SUM(A1)"), ("-5", "-5"), ("1,234.5", "1234.5"), ("–", "")],
    )
    def test_csv_fields_are_never_formulas(self, cell: str, field: str) -> None:
        assert list(csv.reader(comma_separated.table(cells(cell)).splitlines()))[1] == ([field] if field else [""])

    def test_csv_quotes_separators_within_a_field(self) -> None:
        (_, (field,)) = csv.reader(comma_separated.table(cells('a,"b"\nc')).splitlines(keepends=True))
        assert field == 'a,"b"\nc'


class TestCommandsUseThem:
    """The tables that commands show with `show_table`, and the lines that they print around them."""

    def written(self, name: str, capsys: pytest.CaptureFixture[str]) -> str:
        parser = argparse.ArgumentParser()
        add_format(parser)
        console = make_console(parser.parse_args(["--format", name]).format)
        assert isinstance(console, Document)
        columns = [
            TableColumn("cell", ["[bold]x[/]", r"\[y]"], is_number=False),
            TableColumn("wide", ["1" * 500, "2"], optional=True),
        ]
        show_table(console, "Title", columns, Marks(["", STAR], star="tested"))
        console.print("[dim]a note | of <it>[/]")
        return capsys.readouterr().out

    def test_markdown_drops_terminal_styles_but_no_column(self, capsys: pytest.CaptureFixture[str]) -> None:
        text = self.written("markdown", capsys)
        assert f"| x | {'1' * 500} |\n" in text
        assert "| \\[y\\] | 2\\* |\n" in text
        assert text.endswith("a note \\| of &lt;it&gt;\n\n")

    def test_note_is_small_print_in_latex_and_missing_in_csv(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert r"{\footnotesize a note \textbar{} of \textless{}it\textgreater{}\par}" in self.written("latex", capsys)
        assert "note" not in self.written("csv", capsys)
