import json
import re
from pathlib import Path

import pytest

from analysis.__main__ import main
from tests.analysis import tiny_sweep
from tests.analysis.report.pages import Page


@pytest.fixture(scope="module")
def written(sweep: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three files of the tiny sweep."""
    folder = tmp_path_factory.mktemp("report") / "a" / "b"
    assert main(["report", str(sweep), "--metric", "rouge_l", "--out", str(folder)]) == 0
    return folder


def test_report_numbers_equal_the_compare_command(sweep: Path, written: Path, tmp_path: Path) -> None:
    tables = json.loads((written / "report.json").read_text())["cells"]["tables"]
    assert [table["metric"] for table in tables] == ["rouge_l", "bleu"]
    for table in tables:
        file = tmp_path / f"{table['metric']}.json"
        assert main(["compare", str(sweep), "--metric", table["metric"], "--json", str(file)]) == 0
        compared = json.loads(file.read_text())
        assert table["comparison"] == compared
        best, *others = table["rows"]
        assert best["mean"] == compared["baseline"]["mean"]
        shown = [(row["mean"], row["difference"], row["difference_low"], row["p_adjusted"]) for row in others]
        assert shown == [
            (own["mean"], own["difference"], own["ci_low"], own["p_adjusted"]) for own in compared["cells"]
        ]


def test_repeated_report_command_writes_identical_files(sweep: Path, written: Path, tmp_path: Path) -> None:
    assert main(["report", str(sweep), "--metric", "rouge_l", "--out", str(tmp_path)]) == 0
    for file in ("report.html", "report.md", "report.json"):
        assert (tmp_path / file).read_bytes() == (written / file).read_bytes()


def test_report_page_is_self_contained(written: Path) -> None:
    html = (written / "report.html").read_text()
    parsed = Page(html)
    references = [*parsed.values_of("src"), *parsed.values_of("href"), *re.findall(r"url\((.*?)\)", html)]
    assert references
    assert [each for each in references if not each.startswith(("#", "data:,"))] == []
    assert "@import" not in html


def test_report_links_have_targets_and_ids_are_unique(written: Path) -> None:
    parsed = Page((written / "report.html").read_text())
    ids = list(parsed.values_of("id"))
    assert len(ids) == len(set(ids))
    assert {each[1:] for each in parsed.values_of("href") if each.startswith("#")} <= set(ids)
    assert set(parsed.values_of("aria-labelledby")) <= set(ids)


def test_report_command_writes_into_the_sweep_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tiny_sweep.write(tmp_path / "tiny")
    assert main(["report", str(folder)]) == 0
    assert {"report.html", "report.md", "report.json"} <= {path.name for path in folder.iterdir()}
    printed = capsys.readouterr().out
    assert f"page:     {folder / 'report.html'}" in printed
    assert "Cells are named by retriever · top_k." in printed.splitlines()


def test_report_command_rejects_a_missing_sweep_metric_or_folder(
    sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path)]) == 2
    assert "no sweep here" in capsys.readouterr().err
    assert main(["report", str(sweep), "--metric", "loudness"]) == 2
    assert "overall has no metric 'loudness'" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["report", str(sweep), "--out", str(tmp_path / "file")]) == 2
    assert "cannot be created" in capsys.readouterr().err
