from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from analysis.__main__ import main
from components.clusters import component_ids
from tests.analysis import tiny_sweep
from tests.analysis.tiny_sweep import TinyCell


def repeated(retriever: str, values: Sequence[float], n_answers: int, n_judgements: int) -> list[TinyCell]:
    """A configuration whose answers and judgements differ by noise."""
    random = np.random.default_rng(1)
    return [
        TinyCell(
            f"{retriever}{answer}{judgement}",
            {"retriever": retriever, "repeat": answer, "judge_repeat": judgement if n_judgements > 1 else None},
            (np.array(values) + 0.1 * random.normal(size=8)).tolist(),
        )
        for answer in range(n_answers)
        for judgement in range(n_judgements)
    ]


VALUES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.2, 0.1, 0.2]


def test_repeats_command_prints_a_row_per_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [*repeated("bm25", VALUES, 2, 2), *repeated("dense", VALUES, 2, 2)]
    assert main(["repeats", str(tiny_sweep.write(tmp_path, cells)), "--metric", "rouge_l"]) == 0
    title, head, *rows = capsys.readouterr().out.splitlines()
    assert title.startswith("rouge_l of all samples: standard deviation of one sample")
    assert head.split()[:5] == ["cell", "retriever", "samples", "groups", "answers"]
    n_groups = str(len(set(component_ids(tiny_sweep.DOCUMENTS[:8]))))
    assert [row.split()[1:6] for row in rows[:2]] == [[name, "8", n_groups, "2", "2"] for name in ("bm25", "dense")]
    mean = np.mean([value for cell in cells[:4] for value in cell.rouge_l if value is not None])
    assert rows[0].split()[6] == f"{mean:.4f}"
    assert any("at least 20 effective groups" in line for line in rows), "so few have none"
    assert "–" not in "".join(rows[:2])


def test_repeats_command_shows_a_dash_for_an_unrepeated_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = repeated("bm25", VALUES, 3, 1)
    assert main(["repeats", str(tiny_sweep.write(tmp_path, cells)), "--metric", "rouge_l"]) == 0
    row = capsys.readouterr().out.splitlines()[2].split()
    assert row[-4] == "–"
    assert float(row[-2]) >= float(row[-3]) >= float(row[-1]), "one answer is worth less than three"


@pytest.mark.parametrize(
    ("n_cells", "metric", "message"),
    [
        (1, "rouge_l", "no configuration with a value of rouge_l of all samples was repeated"),
        (3, "rouge_l", "repeat=1 judge_repeat=1 has no value for bm2500"),
        (4, "bleu", "bleu of all samples has no values of single samples"),
        (4, "macro:rouge_l", "a mean over subsets has no values of single samples"),
    ],
)
def test_repeats_command_refuses_cells_without_comparable_repeats(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], n_cells: int, metric: str, message: str
) -> None:
    cells = repeated("bm25", VALUES, 2, 2)[:n_cells]
    assert main(["repeats", str(tiny_sweep.write(tmp_path, cells)), "--metric", metric]) == 2
    assert message in capsys.readouterr().err
