"""Sets of texts that no tool likes, through every format and back: nothing is changed."""

import csv
import io
import random
from pathlib import Path

import pytest

from components.records import Documents, Evidence, Kind, Sample
from runner.results import released_set as content
from runner.results.set_files import read_testset, write_testset
from runner.testset.annotating.annotation_files import AnnotatorFrom, read_annotations
from runner.testset.annotating.annotator_wording import WORDINGS, Language
from runner.testset.annotating.resolving import resolve_annotations
from runner.testset.annotating.sheet import write_sheet
from tests.runner.testset.annotating.exports import results_of, untouched, write

PIECES = (
    "a", "b", " ", "\n", "\r", "\r\n", "\t", "\x00", "\x1b", "\u202e", "\ufeff", "\u2028", "\U0001f600",
    "\U0001f468\u200d\U0001f469", "中", "。", "=", "'", '"', ",", ";", "<script>", "\\n", "\\", "\u0301", "\ufffe",
)  # fmt: skip


def odd_set(seed: int) -> "content.Testset":
    draw = random.Random(seed)

    def text(n: int) -> str:
        return "x" + "".join(draw.choices(PIECES, k=n))

    texts = [text(draw.choice((5, 50, 500))) for _ in range(4)]
    samples = []
    for number in range(8):
        places = [(place, sorted(draw.sample(range(len(texts[place]) + 1), 2))) for place in draw.sample(range(4), 2)]
        gold = tuple(Evidence(f"d{place}", start, end) for place, (start, end) in places)
        references = tuple(text(15) for _ in range(draw.choice((1, 2))))
        samples.append(Sample(f"s{number}", "all", Kind.QA, text(20), references, gold, "topic", "task"))
    documents = Documents([f"d{place}" for place in range(4)], [text(3) for _ in texts], texts)
    return content.Testset(documents, tuple(samples))


@pytest.fixture(params=range(12))
def testset(request: pytest.FixtureRequest) -> "content.Testset":
    return odd_set(request.param)


def test_testset_files_survive_a_round_trip(testset: "content.Testset", tmp_path: Path) -> None:
    write_testset(tmp_path / "set", testset)
    read = read_testset(tmp_path / "set")
    assert (read.samples, read.documents) == (testset.samples, testset.documents)


@pytest.mark.parametrize("counts", ["code points", "UTF-16 units"])
def test_label_studio_survives_a_round_trip(testset: "content.Testset", counts: str, tmp_path: Path) -> None:
    tasks = untouched(testset)
    for task in tasks if counts == "UTF-16 units" else ():
        for result in results_of(task):
            if result["type"] == "labels":
                value, shown = result["value"], task["data"][result["to_name"]]
                for edge in ("start", "end"):
                    value[edge] = len(shown[: value[edge]].encode("utf-16-le")) // 2
                value["text"] = value["text"].replace("\r", "\\n").replace("\n", "\\n")
    file = write(tmp_path / "export.json", tasks)
    found = read_annotations([file], testset, AnnotatorFrom.COMPLETED_BY, accepts_parent=False)
    assert resolve_annotations(testset, found.annotations) == (testset.samples, (), ())


@pytest.mark.parametrize(("delimiter", "line_end"), [(",", "\r\n"), (";", "\n")])
def test_sheet_saved_by_a_spreadsheet_has_no_changes(
    testset: "content.Testset", delimiter: str, line_end: str, tmp_path: Path
) -> None:
    sheet = write_sheet(testset.samples, testset, WORDINGS[Language.EN])
    rows = csv.reader(io.StringIO(sheet.removeprefix("\ufeff"), newline=""))
    text = io.StringIO(newline="")
    saved = csv.writer(text, delimiter=delimiter, lineterminator=line_end)
    for row in rows:
        saved.writerow([line_end.join(cell.replace("\r\n", "\n").replace("\r", "\n").split("\n")) for cell in row])
    (tmp_path / "ann.csv").write_bytes(("\ufeff" + text.getvalue()).encode())
    found = read_annotations([tmp_path / "ann.csv"], testset, AnnotatorFrom.COMPLETED_BY, accepts_parent=False)
    assert (found.annotations, found.n_untouched) == ((), 8)
