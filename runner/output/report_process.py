"""Writes the report of a finished sweep in a separate process, so that a failing report costs no result.

The process runs `analysis`, which `runner` does not import.
"""

import subprocess
from pathlib import Path

from runner.output.own_process import module_command, module_environment

FILES = ("report.html", "report.md", "report.json")
"""Files that `python -m analysis report` writes into the sweep's folder: the page, its text and its numbers."""

PAGE = FILES[0]


def write_report(sweep_dir: Path) -> str:
    """Write the report. Return "", or the reason why it was not written."""
    try:
        done = subprocess.run(  # noqa: S603 - the sweep wrote the folder
            module_command("analysis", "report", str(sweep_dir)),
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=module_environment(),
            check=False,
        )
    except OSError as error:
        return f"its process did not start: {error}"
    except KeyboardInterrupt:
        return "interrupted"
    if done.returncode == 0:
        return ""
    last = ([line.strip() for line in done.stderr.splitlines() if line.strip()] or ["no message"])[-1]
    return f"exit code {done.returncode}: {last}"


def report_files(sweep_dir: Path) -> list[Path]:
    """Return the files of the report that exist."""
    return [sweep_dir / name for name in FILES if (sweep_dir / name).is_file()]
