"""Test that a secret appears nowhere: every place for one, with every failure of a command.

Afterwards, a search reads every byte that the command left.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.leaky_server import Failure, leaking
from benchmarks.measure import Bound, Measure
from benchmarks.secret_places import CONFIGURATION, ENVIRONMENT, PLACES, Place, random_secret
from benchmarks.secret_search import Leak, leaks
from benchmarks.settings import Settings

_SMALL = (
    "dataset.limit=4",
    "retriever=bm25",
    "metrics.interval.n_resamples=100",
    "run.workers=1",
    "run.progress=false",
)
_NOT_RUN = 2
_REFUSALS = ("environment variable", "MLFLOW_TRACKING_PASSWORD", "a folder on this machine")
"""Texts that name the right place. A message about a secret contains one of them."""

_TIMEOUT_S = 240.0
_N_SECRETS = 1
"""Random secrets for each place and failure."""

_PLUGIN = '''"""A language model whose exception repeats the environment."""
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.protocols import AnswersFrom
from components.records import Answer, Request


@dataclass(frozen=True)
class Raising:
    model: str = "m"
    api_key_env: str = ""
    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES
    is_free: ClassVar[bool] = True

    def check(self) -> list[str]:
        return []

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        raise RuntimeError(f"no reply with {dict(os.environ)}")
        yield
'''
_RAISING = ("run.plugins=[leaky_plugin]", "llm=none", "llm._target_=leaky_plugin.Raising")
_UNTRACKED = "tracking=none"
_TRACKED_EVERY = 5
"""Loading MLflow takes longer than the rest of a trial."""

Killed = Callable[[], bool]
"""Function that returns True as soon as a command must be killed."""

Command = Callable[[Sequence[str], Path, Mapping[str, str], Killed], tuple[int, str]]
"""Function that runs `python -m runner` in a folder with an environment, and returns exit code and output."""


@dataclass(frozen=True)
class Trial:
    """A secret in a place, and the failure of the command."""

    place: Place
    failure: Failure | None
    secret: str

    def __str__(self) -> str:
        return f"{self.place.name}, {self.failure.value if self.failure else 'refused'}"


@dataclass(frozen=True)
class Ended:
    """The end of a trial. `problem` describes a wrong outcome, "" for none. `leaks` are places where the secret
    appeared.
    """

    trial: Trial
    problem: str
    leaks: tuple[Leak, ...]

    @property
    def held(self) -> bool:
        """True if the secret appeared nowhere, and the outcome of the command is right."""
        return not (self.problem or self.leaks)


def trials(chance: random.Random, n_secrets: int) -> Iterator[Trial]:
    """Yield every place with every failure, each with random secrets."""
    for place in PLACES:
        for failure in place.failures or (None,):
            for _ in range(n_secrets):
                yield Trial(place, failure, random_secret(chance, place))


def attempt(trial: Trial, folder: Path, run: Command, *, is_tracked: bool = False) -> Ended:
    """Run one trial in an empty folder, and search it. With `is_tracked`, MLflow and the report take part."""
    with leaking(trial.failure or Failure.ECHO) as server:
        port = 1 if trial.failure is Failure.REFUSED else server.port
        overrides, given, preset = trial.place.fill(trial.secret, port)
        _write_files(folder, preset)
        code, output = run(
            _arguments(trial, overrides, is_tracked=is_tracked),
            folder,
            _environment(folder, given),
            lambda: trial.failure is Failure.KILLED and server.n_requests > 0,
        )
    (folder / "presets" / "mine" / "here.yaml").unlink(missing_ok=True)  # the user's own file
    return Ended(trial, _problem(trial, code, folder, output), tuple(leaks(folder, output, trial.secret)))


def _arguments(trial: Trial, overrides: Sequence[str], *, is_tracked: bool) -> list[str]:
    flags = [each for each in overrides if each.startswith("--")]
    own = [each for each in overrides if each not in flags]
    if trial.failure is Failure.RAISED:
        names = [f"+{each}" for each in own if each.startswith("llm.api_key_env=")]
        own = [*(each for each in own if not each.startswith("llm")), *_RAISING, *names]
    needs_tracking = any("tracking" in each for each in own)
    tracked = ["run.report=true"] if is_tracked else [] if needs_tracking else [_UNTRACKED]
    return [*flags, *_SMALL, *tracked, *own]


def _write_files(folder: Path, preset: str) -> None:
    (folder / "tmp").mkdir()
    (folder / "leaky_plugin").mkdir()
    (folder / "leaky_plugin" / "__init__.py").write_text(_PLUGIN, encoding="utf-8")
    if preset:
        (folder / "presets" / "mine").mkdir(parents=True)
        (folder / "presets" / "mine" / "here.yaml").write_text(preset, encoding="utf-8")


def _environment(folder: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Return our environment without a proxy of this machine. Temporary files go below the folder."""
    own = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**own, "TMPDIR": str(folder / "tmp"), "COLUMNS": "400", **given}


def _problem(trial: Trial, code: int, folder: Path, output: str) -> str:
    if not trial.place.is_refused:
        return "" if code or trial.failure is Failure.ANSWERED or "MLFLOW" in trial.place.name else "ended well"
    if code != _NOT_RUN or not any(word in output for word in _REFUSALS):
        return f"was not refused: exit code {code}: {output[-300:]}"
    left = [path.name for path in folder.glob("results/*") if path.name != "servers"]
    return f"left {left} before it was refused" if left else ""


def measure(settings: Settings) -> list[Measure]:
    """Run all trials as separate commands."""
    chance = random.Random(20)
    found: list[Ended] = []
    for number, trial in enumerate(trials(chance, _N_SECRETS)):
        folder = settings.scratch / str(number)
        folder.mkdir(parents=True)
        found.append(attempt(trial, folder, as_command, is_tracked=number % _TRACKED_EVERY == 0))
        if not found[-1].held:
            print(f"{trial}: {found[-1].problem} {found[-1].leaks[:5]}", file=sys.stderr, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
    return [
        _count_places(name, places, found)
        for name, places in (("environment", ENVIRONMENT), ("configuration", CONFIGURATION))
    ]


def _count_places(name: str, places: Sequence[Place], found: Sequence[Ended]) -> Measure:
    own = [ended for ended in found if ended.trial.place in places]
    broke = Counter(str(ended.trial) for ended in own if not ended.held)
    detail = f"{len(own)} tried, {sum(ended.held for ended in own)} held; {len(places)} places"
    shown = "".join(f"; {trial}" for trial in broke)
    return Measure(f"secrets in the {name} that were seen", sum(broke.values()), "", detail + shown, Bound(0))


def as_command(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], is_killed: Killed
) -> tuple[int, str]:
    """See `Command`. A killed command takes its process group along."""
    with TemporaryDirectory() as outside:
        written = Path(outside) / "output"
        with written.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "runner", *arguments], cwd=folder, env=dict(environment), stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        limit = time.monotonic() + _TIMEOUT_S
        while process.poll() is None and time.monotonic() < limit and not is_killed():
            time.sleep(0.05)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait(), written.read_text(encoding="utf-8", errors="surrogateescape")
