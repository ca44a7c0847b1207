"""Tab completion in bash: Hydra's function for `rag-grid`, installed as docs/install.md says."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runner.sweeping import REPOSITORY

INSTALL = 'eval "$(rag-grid -sc install=bash)"'

PROGRAM = """
import sys
from runner.__main__ import run

sys.exit(run())
"""

PRESS_TAB = """
COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=($1)
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
complete -p rag-grid | grep -q hydra_bash_completion || exit 3
hydra_bash_completion
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which `rag-grid` runs this checkout."""
    command = tmp_path / "bin" / "rag-grid"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\n{PROGRAM}", encoding="utf-8")
    command.chmod(0o755)
    return {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}", "PYTHONPATH": str(REPOSITORY)}


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rag-grid retr", ["retriever", "retriever."]),
        ("rag-grid retriever=b", ["retriever=bge_m3", "retriever=bm25"]),
        ("rag-grid -m dataset=demo_en chunk.si", ["chunk.size="]),
        ("rag-grid -m +sweeps=sm", ["+sweeps=smoke"]),
    ],
)
def test_tab_completes_groups_options_fields_and_presets(
    line: str, expected: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    script = f"{INSTALL}\n{PRESS_TAB}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", line], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == expected


def test_install_page_shows_the_tested_completion_command() -> None:
    assert f"\n{INSTALL}\n" in (REPOSITORY / "docs" / "install.md").read_text(encoding="utf-8")
