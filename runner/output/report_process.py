"""The report of a finished sweep, made by a process of its own: `analysis` reads what `runner` writes, and no failure
of a report costs a result.
"""

import subprocess
import sys
from pathlib import Path

from runner.output.own_process import own_environment

FILES = ("report.html", "report.md", "report.json")
"""What `python -m analysis report` writes into the sweep's folder: the page, its text and its numbers."""

PAGE = FILES[0]


def write_report(sweep_dir: Path) -> str:
    """Writes it; returns "", or why there is none."""
    try:
        done = subprocess.run(  # noqa: S603 - the folder is what the sweep has written
            [sys.executable, "-m", "analysis", "report", str(sweep_dir)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=own_environment(),
            check=False,
        )
    except OSError as error:
        return f"its process did not start: {error}"
    except KeyboardInterrupt:
        return "interrupted"
    if done.returncode == 0:
        return ""
    last = ([line.strip() for line in done.stderr.splitlines() if line.strip()] or ["nothing was said"])[-1]
    return f"exit code {done.returncode}: {last}"


def report_files(sweep_dir: Path) -> list[Path]:
    """Those that are there."""
    return [sweep_dir / name for name in FILES if (sweep_dir / name).is_file()]
