from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis.__main__ import main
from tests.analysis import tiny_sweep


def lines_of(folder: Path, capsys: pytest.CaptureFixture[str], metric: str = "rouge_l") -> list[str]:
    assert main(["effects", str(folder), "--metric", metric]) == 0
    return [line.strip() for line in capsys.readouterr().out.splitlines()]


def test_axes_are_ranked_with_the_means_of_their_values(
    sweep: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("components.statistics.noise._MIN_EFFECTIVE_CLUSTERS", 5)
    lines = lines_of(sweep, capsys)
    assert lines[0] == "rouge_l of all samples: share of the variance between 4 cells"
    name, share, corrected, low, to, high, df, *means = lines[2].split()
    assert (name, to, df) == ("retriever", "to", "1")
    assert 90 < float(low.rstrip("%")) <= float(share.rstrip("%")) < float(corrected.rstrip("%")) <= 100
    assert high == "100%"
    assert means == ["dense:", "0.7000,", "bm25:", "0.2643"]  # without the sample that one of the cells lacks
    assert "over the 7 of 8 samples for which every cell has a value" in lines
    assert [line.split("  ")[0] for line in lines[3:6]] == ["top_k", "retriever x top_k", "higher interactions, rest"]


def test_effects_with_few_groups_report_no_noise_share(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(sweep, capsys)
    name, _, corrected, interval, *_ = lines[2].split()
    assert (name, corrected, interval) == ("retriever", "–", "–")
    said = "6 independent groups, effectively 5: too few to tell how much of a share is noise"
    assert any(line.startswith(said) for line in lines)


def test_effects_list_the_better_value_first(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "bm25: 0.2643, dense: 0.7000" in lines_of(sweep, capsys, "hallucination")[2]


def test_effects_accept_macro_means_and_explain_equal_corpus_metrics(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["effects", str(sweep), "--metric", "bleu"]) == 2
    assert "bleu of all samples is the same in 4 cells" in capsys.readouterr().err
    assert lines_of(sweep, capsys, "macro:rouge_l")[2].startswith("retriever")


def test_effects_report_left_out_cells_and_dependent_axes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    *cells, last = [
        replace(
            cell,
            axes={**cell.axes, **dict.fromkeys(("index", "dataset.key"), f"for {cell.axes['retriever']}")},
        )
        for cell in tiny_sweep.CELLS
    ]
    failed = replace(last, facts={"status": "FAILED", "reason": "no"})
    lines = lines_of(tiny_sweep.write(tmp_path, [*cells, failed]), capsys)
    assert "index varies only along with retriever, which represents both" in lines
    assert not any("dataset.key" in line for line in lines), "the data of a parser is no setting"
    assert "cannot be separated from the other terms, so without a share: retriever x top_k" in lines
    assert "left out: 1 cell that failed, or have no value or no result yet" in lines


def test_level_is_compared_in_cells_with_equal_other_axes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One axis at a time around bm25 with top_k=2: the mean of bm25 leaves out its cells with other values of top_k."""
    one_at_a_time = [("bm25", 2, 0.2), ("dense", 2, 0.5), ("bm25", 8, 0.7), ("bm25", 16, 0.9)]
    base = tiny_sweep.CELLS[0]
    cells = [
        replace(base, cell_id=f"c{place}", axes={"retriever": name, "top_k": k}, rouge_l=[value, value + 0.1] * 4)
        for place, (name, k, value) in enumerate(one_at_a_time)
    ]
    lines = lines_of(tiny_sweep.write(tmp_path, cells), capsys)
    assert any("dense: 0.5500, bm25: 0.2500" in line for line in lines), "not bm25: 0.6500, the mean of its three cells"
    assert any("16: 0.9500, 8: 0.7500, 2: 0.2500" in line for line in lines)
    counts = "each mean is over the combinations of the other axes that all levels share: "
    (said,) = [line for line in lines if line.startswith(counts)]
    assert sorted(said.removeprefix(counts).split(", ")) == ["retriever 1", "top_k 1"]
    assert any(line.startswith("one axis varies at a time, so an axis with more levels has") for line in lines)


def test_effects_give_no_mean_for_a_level_with_further_differences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    far = replace(tiny_sweep.CELLS[0], cell_id="f", axes={"retriever": "hybrid", "top_k": 5}, rouge_l=[0.9] * 8)
    lines = lines_of(tiny_sweep.write(tmp_path, [*tiny_sweep.CELLS, far]), capsys)
    assert "no mean of retriever=hybrid: its cells differ from the others in more than this axis" in lines


def test_option_that_some_cells_lack_separates_no_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    only = {"bm25": {"tokenizer": "english", "embedder": None}, "dense": {"tokenizer": None, "embedder": "hashing"}}
    cells = [replace(cell, axes={**cell.axes, **only[str(cell.axes["retriever"])]}) for cell in tiny_sweep.CELLS]
    line = next(line for line in lines_of(tiny_sweep.write(tmp_path, cells), capsys) if line.startswith("retriever "))
    assert line.endswith("dense: 0.7000, bm25: 0.2643")


def test_effects_refuse_cells_with_equal_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    equal = [replace(cell, rouge_l=[0.5] * 8) for cell in tiny_sweep.CELLS]
    assert main(["effects", str(tiny_sweep.write(tmp_path, equal)), "--metric", "rouge_l"]) == 2
    assert "is the same in 4 cells, so no axis has an effect" in capsys.readouterr().err


def test_effects_report_cells_that_differ_only_by_chance(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random = np.random.default_rng(3)
    cells = [replace(cell, rouge_l=random.random(8).tolist()) for cell in tiny_sweep.CELLS]
    lines = lines_of(tiny_sweep.write(tmp_path, cells), capsys)
    assert lines[2].count("–") == 2
    assert any(line.startswith("the cells differ no more than equal cells would by chance") for line in lines)
