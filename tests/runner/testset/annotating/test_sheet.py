"""Annotation in spreadsheets."""

import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pandas
import pytest

from components.errors import DataError
from components.records import Evidence
from runner.console.display import FORMULA_STARTS
from runner.console.spreadsheet_cells import escape, unescape
from runner.testset.annotating.annotation_files import AnnotatorFrom, read_annotations
from runner.testset.annotating.annotations import AnnotationSet, AnnotatorCheck
from runner.testset.annotating.annotator_wording import WORDINGS, Language
from runner.testset.annotating.resolving import resolve_annotations
from runner.testset.annotating.sheet import write_sheet
from tests.runner.testset.small import SAMPLES, small_set

SET = small_set()
SHEET = write_sheet(SAMPLES, SET, WORDINGS[Language.EN])


def changed(row: int, cells: Mapping[str, str], **options: str) -> str:
    """The sheet with other cells in a row, from 0."""
    header, *rows = csv.reader(io.StringIO(SHEET.removeprefix("\ufeff"), newline=""))
    for name, cell in cells.items():
        place = next(number for number, title in enumerate(header) if title.partition(":")[0] == name)
        rows[row][place] = cell
    text = io.StringIO(newline="")
    csv.writer(text, **options).writerows([header, *rows])  # type: ignore[arg-type]
    return text.getvalue()


def twice(name: str) -> str:
    """The sheet with a second column of the name, as of two annotators side by side."""
    rows = list(csv.reader(io.StringIO(SHEET.removeprefix("\ufeff"), newline="")))
    text = io.StringIO(newline="")
    csv.writer(text).writerows([[*row, name if number == 0 else "5"] for number, row in enumerate(rows)])
    return text.getvalue()


def read(tmp_path: Path, text: str, encoding: str = "utf-8") -> AnnotationSet:
    file = tmp_path / "ann.csv"
    file.write_bytes(text.encode(encoding))
    return read_annotations([file], SET, AnnotatorFrom.COMPLETED_BY, accepts_parent=False)


CONVERTED = [
    "0.50",
    "007",
    "3-4",
    "10:30",
    "1e5",
    "1,000",
    "123456789012345678",
    "TRUE",
    "NA",
    "2020-05-01",
    "50 %",
    "None",
]
CONVERTED += ["4 März", "June 1932", "2020年5月1日", "$5", "５０％", "NaN", "1/2", "(5)", ".5"]
"""Answers that spreadsheets or pandas read as numbers, dates, truth values or no value."""


@pytest.mark.parametrize(
    "cell",
    [
        "=1+1",
        "'=1",
        "''",
        "'tis",
        "-3",
        "@x",
        "\tx",
        "\rx",
        "+1",
        "plain",
        "",
        "a=b",
        "\n=",
        "＝1",
        "＋1",
        "－1",
        "＠x",
        *CONVERTED,
    ],
)
def test_formula_escaping_is_reversible(cell: str) -> None:
    assert unescape(escape(cell)) == cell
    assert not escape(cell).startswith(FORMULA_STARTS)


@pytest.mark.parametrize("answer", CONVERTED)
def test_answer_that_spreadsheets_convert_survives_pandas(answer: str, tmp_path: Path) -> None:
    testset = replace(SET, samples=tuple(replace(sample, references=(answer,)) for sample in SAMPLES))
    (tmp_path / "exported.csv").write_text(
        write_sheet(testset.samples, testset, WORDINGS[Language.ZH]), encoding="utf-8"
    )
    pandas.read_csv(tmp_path / "exported.csv").to_csv(tmp_path / "ann.csv", index=False)
    annotated = read_annotations([tmp_path / "ann.csv"], testset, AnnotatorFrom.COMPLETED_BY, accepts_parent=False)
    assert (annotated.annotations, annotated.n_untouched) == ((), len(SAMPLES))


@pytest.mark.parametrize("longer", ["0.50 metres, as the report of the year says", "1", "half"])
def test_edit_of_a_cell_with_a_protecting_apostrophe_loses_it(longer: str, tmp_path: Path) -> None:
    testset = replace(SET, samples=tuple(replace(sample, references=("0.50",)) for sample in SAMPLES))
    sheet = write_sheet(testset.samples, testset, WORDINGS[Language.ZH])
    assert sheet.count('"\'0.50"') == len(SAMPLES)
    (tmp_path / "ann.csv").write_text(sheet.replace("'0.50", f"'{longer}"), encoding="utf-8")
    annotated = read_annotations([tmp_path / "ann.csv"], testset, AnnotatorFrom.COMPLETED_BY, accepts_parent=False)
    assert {annotation.references for annotation in annotated.annotations} == {(longer,)}


def test_list_of_answers_has_no_apostrophe() -> None:
    assert escape('["5", "five"]') == '["5", "five"]'


def test_answer_in_words_has_no_apostrophe() -> None:
    assert escape("It was opened in 1932 by the king") == "It was opened in 1932 by the king"


def test_leading_apostrophe_survives_the_import() -> None:
    assert unescape("'tis") == "'tis"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_sheet_saved_without_edits_has_no_annotations(delimiter: str, tmp_path: Path) -> None:
    saved = changed(0, {}, delimiter=delimiter, lineterminator="\r\n")
    found = read(tmp_path, saved.replace("\n=SUM", "\r\n=SUM"), "utf-8-sig")
    assert (found.annotations, found.n_untouched) == ((), 5)


def test_sheet_escapes_questions_that_are_formulas(tmp_path: Path) -> None:
    odd = replace(SET, samples=tuple(replace(own, question="=cmd|' /C calc'!A0") for own in SAMPLES))
    sheet = write_sheet(odd.samples, odd, WORDINGS[Language.ZH])
    assert sheet.startswith("\ufeff")
    cells = [cell for row in csv.reader(io.StringIO(sheet.removeprefix("\ufeff"), newline="")) for cell in row]
    assert [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))] == []
    (tmp_path / "ann.csv").write_text(sheet, encoding="utf-8")
    found = read_annotations([tmp_path / "ann.csv"], odd, AnnotatorFrom.COMPLETED_BY, accepts_parent=False)
    assert found.n_untouched == 5


def test_every_sheet_field_is_imported(tmp_path: Path) -> None:
    unit = {"document": "bridge", "text": "designed by a team"}
    cells = {
        "question": "'=When?",
        "references": '["1932", "In 1932"]',
        "gold": json.dumps([unit]),
        "topic": "water",
        "rating": "3.0",
        "check_answer": "是",
        "check_task": "no",
    }
    found = read(tmp_path, changed(0, cells))
    (own,) = found.annotations
    assert (own.annotator, own.sample, own.question, own.rating) == ("ann", "s1", "=When?", 3)
    assert own.references == ("1932", "In 1932")
    assert own.checks == {AnnotatorCheck.ANSWER: True, AnnotatorCheck.TASK: False}
    start = SET.texts["bridge"].index(unit["text"])
    assert own.gold == (Evidence("bridge", start, start + len(unit["text"])),)
    assert [edit.field for edit in resolve_annotations(SET, found.annotations).edits] == [
        "question",
        "references",
        "gold",
        "topic",
    ]


def test_references_that_look_like_lists_survive_the_sheet(tmp_path: Path) -> None:
    odd = replace(
        SET,
        samples=(replace(SAMPLES[0], references=("[1] one", "two")), replace(SAMPLES[1], references=("[503] metres",))),
    )
    (tmp_path / "ann.csv").write_text(write_sheet(odd.samples, odd, WORDINGS[Language.EN]), encoding="utf-8")
    found = read_annotations([tmp_path / "ann.csv"], odd, AnnotatorFrom.COMPLETED_BY, accepts_parent=False)
    assert found.n_untouched == 2


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ({"question": " "}, "the question is blank"),
        ({"references": ""}, "no answer is left"),
        ({"references": '["1932", "In 1932"'}, "the column 'references' cannot be read"),
        ({"references": "[“1932”, “In 1932”]"}, "the column 'references' cannot be read"),
        (
            {"references": "[null]"},
            "the column 'references' cannot be read: got a list with values that are not strings",
        ),
        (
            {"references": "[" * 100_000},
            "the column 'references' cannot be read: lists or objects are nested too deeply",
        ),
        ({"gold": "[" * 100_000}, "the column 'gold' cannot be read (lists or objects are nested too deeply"),
        ({"gold": ""}, "no passage is left"),
        ({"gold": "[{"}, "the column 'gold' cannot be read"),
        ({"gold": '[{"document": "bridge", "text": "It "}]'}, "the passage 'It ' occurs 2 times in document 'bridge'"),
        ({"gold": '[{"document": "road", "text": "It"}]'}, "the passage 'It' occurs 0 times in document 'road'"),
        ({"topic": "bread"}, "this set has no topic 'bread'"),
    ],
)
def test_unusable_sheet_row_is_a_conflict_without_changes(cells: dict[str, str], problem: str, tmp_path: Path) -> None:
    found = resolve_annotations(SET, read(tmp_path, changed(0, cells)).annotations)
    assert found.samples == SAMPLES
    (conflict,) = found.conflicts
    assert conflict.sample == "s1"
    assert conflict.detail.startswith(f"ann: {problem}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (lambda: changed(0, {"rating": "6"}), "row 2: got the rating '6', expected 1 to 5"),
        (lambda: changed(1, {"check_task": "maybe"}), "row 3: got 'maybe' for check_task, expected yes or no"),
        (lambda: changed(1, {"id": "s9"}), "row 3: annotates the sample 's9'"),
        (lambda: changed(1, {"version": "1"}), "row 3: annotates version '1'"),
        (lambda: "a,b\n1,2\n", "no column 'id'"),
        (lambda: "", "no column 'id'"),
        (lambda: twice("rating"), "has the column 'rating' 2 times"),
        (lambda: SHEET.rstrip() + ',"5"\n', "row 6: got 15 cells, expected 14 as in the first row"),
        (lambda: SHEET[:200] + '"x', "not CSV"),
    ],
)
def test_sheet_of_another_set_is_refused(text: Callable[[], str], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, text())


def test_errors_of_all_sheet_rows_are_reported_together(tmp_path: Path) -> None:
    rows = list(csv.reader(io.StringIO(changed(0, {"rating": "6"}).removeprefix("\ufeff"), newline="")))
    rows[3][-1] = "good"
    text = io.StringIO(newline="")
    csv.writer(text).writerows([*rows, *[rows[1]] * 10])
    with pytest.raises(
        DataError, match=r"(?s)row 2: got the rating '6', .*row 4: got the rating 'good', .*\nand 2 more rows$"
    ):
        read(tmp_path, text.getvalue())


def test_sheet_that_is_not_utf8_is_rejected_with_advice(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r'not UTF-8, .* Excel saves "CSV UTF-8"'):
        read(tmp_path, SHEET.removeprefix("\ufeff").replace("\U0001f309", "").replace("→", "-"), "gbk")


def test_annotation_file_with_an_unknown_extension_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"got the extension '.xlsx', expected .json"):
        read_annotations([tmp_path / "a.xlsx"], SET, AnnotatorFrom.FILE, accepts_parent=False)
