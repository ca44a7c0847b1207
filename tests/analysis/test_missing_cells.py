"""A finished cell whose `cell.json` was deleted: no command silently takes the next best cell."""

from pathlib import Path

import pytest

from analysis.__main__ import main as analysis
from runner.export import main as export
from runner.export_rankings import main as export_rankings
from runner.track import main as track
from tests.analysis import tiny_sweep

COMMANDS = {
    "samples": lambda sweep, out: analysis(["samples", sweep, "best"]),
    "compare": lambda sweep, out: analysis(["compare", sweep, "--metric", "rouge_l"]),
    "candidates": lambda sweep, out: analysis(["candidates", sweep]),
    "report": lambda sweep, out: analysis(["report", sweep, "--out", out]),
    "export": lambda sweep, out: export([sweep, "best", "--out", out]),
    "rankings": lambda sweep, out: export_rankings([sweep, "--cell", "best", "--format", "trec", "--out", out]),
    "track": lambda sweep, out: track([sweep]),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_names_a_missing_cell_file(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep = tiny_sweep.write(tmp_path / "sweep")
    file = sweep / tiny_sweep.CELLS[-1].cell_id / "cell.json"
    file.unlink()
    assert COMMANDS[name](str(sweep), str(tmp_path / "out")) == 2
    said = capsys.readouterr().err
    assert said == (
        f"{file}: does not exist, although {sweep / 'sweep.json'} reports this cell as finished. Run the sweep's "
        "command again: finished work is cached.\n"
    )
