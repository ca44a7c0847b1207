import subprocess
import sys
from pathlib import Path

import pytest

from analysis.__main__ import COMMANDS, main
from tests.extras import skip_without

ROOT = Path(__file__).resolve().parents[2]


def test_analysis_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    shown = capsys.readouterr().out
    assert all(command in shown for command in COMMANDS)


def test_analysis_command_imports_only_itself_and_no_heavy_package() -> None:
    code = (
        "import sys, analysis.__main__ as main\n"
        "try: main.main(['compare', '--help'])\n"
        "except SystemExit: pass\n"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "analysis.compare" in loaded
    assert not loaded & {"analysis.effects", "analysis.pareto", "analysis.table", "scipy", "pyarrow", "statsmodels"}


def test_analysis_runs_as_a_module(sweep: Path) -> None:
    command = [sys.executable, "-m", "analysis", "compare", str(sweep), "--metric", "rouge_l"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "confidence the best cell is" in done.stdout


@pytest.mark.parametrize("command", [["notebooks", "--out"], ["report", "SWEEP", "--out"]])
def test_output_folder_that_cannot_be_created_is_an_error(
    command: list[str], sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    if command[0] == "notebooks":
        skip_without("jupytext", extra="notebooks")
    arguments = [str(sweep) if word == "SWEEP" else word for word in command]
    assert main([*arguments, str(tmp_path / "file" / "folder")]) == 2
    assert f"{command[-1]} {tmp_path / 'file' / 'folder'}: cannot be created" in capsys.readouterr().err
