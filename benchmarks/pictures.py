"""make pictures: draws the README's pictures from the README's own sweep.

The pictures of pages need Chromium. Without it, only the leaderboard is drawn.
"""

import html
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from io import StringIO
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
WIDTH = 150
_SERVER_S = 180


def readme_sweep(page: str) -> list[str]:
    """Return the arguments of the first sweep on the page, after `python -m`."""
    command = re.search(r"^python -m (runner .*)$", page, re.MULTILINE)
    if not command:
        raise ValueError("README.md: no command of a sweep")
    return shlex.split(command[1])


def run_sweep(folder: Path, *extra: str) -> str:
    """Run the README's sweep in the folder, and return what it prints from the plan on."""
    arguments = readme_sweep((ROOT / "README.md").read_text(encoding="utf-8"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": str(WIDTH), "FORCE_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *arguments, "run.progress=false", *extra],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.replace(f"{folder}/", "").strip("\n")


def stable(printed: str) -> list[str]:
    """Return the lines of the leaderboard, without ids and colors."""
    plain = Text.from_ansi(printed).plain.replace("\xa0", " ")
    lines = [re.sub(r"^[0-9a-f]{12}\b", "ID", line.strip()) for line in plain.splitlines()]
    first = next(place for place, line in enumerate(lines) if line.startswith("Leaderboard"))
    last = next(place for place, line in enumerate(lines) if line.startswith(("elapsed:", "results:")))
    return [" ".join(line.split()) for line in lines[first:last] if line]


def text_of_svg(svg: str) -> str:
    """Return the text of a picture of a terminal, line by line."""
    rows: dict[float, list[tuple[float, str]]] = {}
    for x, y, words in re.findall(r'<text class="[^"]*-r\d+" x="([\d.]+)" y="([\d.]+)"[^>]*>(.*?)</text>', svg):
        rows.setdefault(float(y), []).append((float(x), html.unescape(words)))
    return "\n".join("".join(words for _, words in sorted(row)) for _, row in sorted(rows.items()))


def draw_terminal(printed: str, command: str, path: Path) -> None:
    """Draw what a sweep prints as a picture of a terminal."""
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(printed), soft_wrap=True)
    path.write_text(console.export_svg(title=command, unique_id="leaderboard"), encoding="utf-8")


def _photograph(browser: str, address: str, path: Path, size: str) -> None:
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=20000")
    subprocess.run(
        [browser, *options, f"--window-size={size}", f"--screenshot={path}", address],
        check=True,
        capture_output=True,
        timeout=180,
    )


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _draw_mlflow(browser: str, folder: Path, sweep: str, path: Path) -> None:
    port = _free_port()
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "mlflow",
            "ui",
            "--backend-store-uri",
            "sqlite:///mlflow.db",
            "--port",
            str(port),
            "--workers",
            "1",
        ],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _wait_for(f"http://127.0.0.1:{port}/health")
        page = f"http://127.0.0.1:{port}/#/experiments/1/runs?viewStateShareKey={sweep}"
        _photograph(browser, page, path, "1600,900")
    finally:
        os.killpg(server.pid, 15)
        server.wait()


def _wait_for(address: str) -> None:
    end = time.monotonic() + _SERVER_S
    while True:
        try:
            with urlopen(address, timeout=5):
                return
        except (URLError, OSError):
            if time.monotonic() > end:
                raise
            time.sleep(1)


def main() -> int:
    """Draw all pictures that this machine can draw, and return 0."""
    command = shlex.join(["python", "-m", *readme_sweep((ROOT / "README.md").read_text(encoding="utf-8"))])
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        draw_terminal(run_sweep(folder), command, DOCS / "leaderboard.svg")
        if not browser:
            print("no Chromium: docs/report.png and docs/mlflow.png are unchanged")
            return 0
        sweep = next((folder / "results").glob("*/sweep.json")).parent
        report = [sys.executable, "-m", "analysis", "report", str(sweep)]
        subprocess.run(report, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, stdout=subprocess.DEVNULL)
        _photograph(browser, (sweep / "report.html").as_uri(), DOCS / "report.png", "1280,1200")
        _draw_mlflow(browser, folder, sweep.name, DOCS / "mlflow.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
