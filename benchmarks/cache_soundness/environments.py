"""The same cell in different environments: with one store for all of them, and with one for each."""

import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.cache_soundness import tiny
from benchmarks.cache_soundness.comparing import Tally
from benchmarks.cache_soundness.processes import in_new_process, step

_CELL = ("language=en", "embedder=lsa", "retriever=hybrid_rerank", "diversity=mmr", "llm=extractive")
_PLAIN = ("executor=local",)


@dataclass(frozen=True)
class Environment:
    """Differences from the usual environment."""

    name: str
    variables: Mapping[str, str] = field(default_factory=dict)
    overrides: Sequence[str] = _PLAIN
    is_elsewhere: bool = False


ENVIRONMENTS = (
    Environment("hash seed 1", {"PYTHONHASHSEED": "1"}),
    Environment("hash seed 2", {"PYTHONHASHSEED": "2"}),
    Environment("locale C", {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0"}),
    Environment("locale tr_TR", {"LC_ALL": "tr_TR.UTF-8"}),
    Environment("time zone", {"TZ": "Asia/Kathmandu"}),
    Environment("another folder", is_elsewhere=True),
    Environment("two threads", {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}),
    Environment("optimised", {"PYTHONOPTIMIZE": "2"}),
    Environment("executor processes, one worker", {}, ("executor=processes", "run.workers=1")),
    Environment("executor processes, two workers", {}, ("executor=processes", "run.workers=2")),
)


def compare_environments(folder: Path, n: int) -> Tally:
    """Compare the first `n` environments, each with a shared store and with an empty one.

    All results must equal the results of the usual environment.
    """
    tally = Tally()
    tiny.write(folder / "data", tiny.documents(), tiny.questions())
    cell = [*tiny.overrides(folder / "data"), *_CELL]
    (usual,) = in_new_process([step(folder / "usual", [*cell, *_PLAIN])])
    for each in ENVIRONMENTS[:n]:
        own, elsewhere = folder / uuid.uuid4().hex, folder / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        steps = [step(store, [*cell, *each.overrides]) for store in (folder / "shared", own)]
        place = elsewhere if each.is_elsewhere else None
        for where, found in zip(("shared", "own"), in_new_process(steps, None, each.variables, place), strict=True):
            tally.n_tried += 1
            if found != usual:
                tally.differences.append(f"environment: {each.name}, {where} store: other results than usual")
        shutil.rmtree(own)
    return tally
