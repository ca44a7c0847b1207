"""pdfLaTeX compiles the tables of the commands unchanged, if it is installed with booktabs."""

import shutil
import subprocess
from pathlib import Path

import pytest

from analysis.__main__ import main
from analysis.formats import Grid, latex
from tests.analysis.formats.test_formats import GRID, NASTY

COMMANDS = (
    ("compare", "SWEEP", "--metric", "rouge_l"),
    ("effects", "SWEEP", "--metric", "rouge_l"),
    ("candidates", "SWEEP", "--metric", "rouge_l"),
    ("pareto", "SWEEP", "--metric", "rouge_l", "--against", "tokens"),
    ("table", "crud_rag/5"),
    ("table", "omnieval/5"),
)
TIMEOUT_S = 60


@pytest.fixture
def pdflatex() -> str:
    found = shutil.which("pdflatex")
    if found is None:
        pytest.skip("pdflatex is not installed (Debian: texlive-latex-recommended)")
    if not subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True, check=False).stdout:
        pytest.skip("booktabs is not installed (Debian: texlive-latex-recommended)")
    return found


def compiled(pdflatex: str, body: str, folder: Path) -> str:
    """The log of two runs, whose second resolves references; fails if TeX does."""
    text = rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{body}\end{{document}}"
    (folder / "paper.tex").write_text(text, encoding="utf-8")
    command = [pdflatex, "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    for _ in range(2):
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    return (folder / "paper.log").read_text(encoding="utf-8", errors="replace")


def test_latex_tables_of_all_commands_compile(
    pdflatex: str, sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in COMMANDS:
        assert main([str(sweep) if word == "SWEEP" else word for word in command] + ["--format", "latex"]) == 0
    nasty = Grid(NASTY, ["head & %", "mean"], [False, True], [[NASTY, "-0.10 +0.20"], ["[x]", "50%"]])
    body = capsys.readouterr().out + latex.table(GRID) + latex.table(nasty) + rf"See \ref{{{latex.label(GRID.title)}}}."
    log = compiled(pdflatex, body, tmp_path)
    assert "LaTeX Warning: There were undefined references" not in log
    assert "Missing character" not in log
