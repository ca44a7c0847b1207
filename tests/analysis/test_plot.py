import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from analysis.__main__ import main
from runner.results import FAILED
from tests.analysis import tiny_sweep


def test_plot_command_prints_the_means_and_draws_a_file(
    sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "plot.svg"
    words = ["plot", str(sweep), "--metric", "rouge_l", "--axis", "top_k", "--by", "retriever", "--out", str(output)]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "rouge_l of all samples (larger is better)" in printed
    assert "over the 7 samples for which every cell has a value, in 6 independent groups" in printed
    assert [line.split()[:3] for line in printed.splitlines()[2:6]] == [
        ["bm25", "2", "0.2286"],
        ["bm25", "8", "0.3000"],
        ["dense", "2", "0.7000"],
        ["dense", "8", "0.7000"],
    ]
    texts = [text.text for text in ElementTree.parse(output).iter("{http://www.w3.org/2000/svg}text")]
    assert {"retriever=bm25", "retriever=dense", "top_k"} <= set(texts)


def test_plot_is_written_to_the_sweep_folder_by_default(
    sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = Path(shutil.copytree(sweep, tmp_path / "own"))
    assert main(["plot", str(own), "--metric", "read/qa_1doc:rouge_l", "--axis", "retriever"]) == 0
    (picture,) = own.glob("*.svg")
    assert picture.name == "plot_read_qa_1doc_rouge_l_retriever.svg"
    assert str(picture) in capsys.readouterr().out


def test_plot_command_rejects_an_unknown_axis(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", str(sweep), "--metric", "rouge_l", "--axis", "chunk"]) == 2
    assert "--axis: got 'chunk', expected one of retriever, top_k" in capsys.readouterr().err


def test_plot_names_cells_left_out_of_every_mean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third = tiny_sweep.CELLS[:3]
    elsewhere = replace(third, question="What else happened?")
    folder = tiny_sweep.write(tmp_path / "s", [first, second, elsewhere])
    assert main(["plot", str(folder), "--metric", "rouge_l", "--axis", "top_k"]) == 0
    assert f"no sample in common with the others: {elsewhere.cell_id}" in capsys.readouterr().out
    failed = tiny_sweep.write(tmp_path / "f", [first, second, replace(third, facts={"status": FAILED})])
    assert main(["plot", str(failed), "--metric", "rouge_l", "--axis", "top_k"]) == 0
    assert "left out: 1 cell that failed" in capsys.readouterr().out
