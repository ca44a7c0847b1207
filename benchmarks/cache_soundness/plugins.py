"""A user's package edited before, during and after a sweep: no result of old code may be stored under new code.

The right outcome is the result of a fresh store for the code that ran, or one error instead of a result. After each
edit, the next process must give the result of a fresh store for the current code, and so again after the edit is
undone.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cache_soundness import tiny
from benchmarks.cache_soundness.comparing import Tally
from benchmarks.cache_soundness.plugin_code import make_edit, variable, write
from benchmarks.cache_soundness.processes import Found, RunSteps, in_new_process, step
from components.json_value import Json

_HOOKED = "while stages run"
"""Moment at which a chunker of another package makes the edit."""

MOMENTS = ("before", "while loading", _HOOKED, "after, in one process")
KINDS = {"model": "plug.parts.Llm", "baseline": "plug.parts.Baseline"}
_EXECUTORS = ("executor=local", "executor=processes")


@dataclass(frozen=True)
class Case:
    """One package in a separate folder, with one edit."""

    folder: Path
    place: str
    kind: str
    executor: str

    def overrides(self, *, hooked_chunker: bool) -> list[str]:
        """Return the overrides of a cell made of the package's parts."""
        return [
            f"hydra.searchpath=[file://{self.folder / 'conf'}]",
            "run.plugins=[plug,hook]",
            "dataset=own",
            "language=en",
            "retriever=bm25",
            f"chunk={'hooked' if hooked_chunker else 'own'}",
            "reranker=own",
            f"llm={self.kind}",
            "+metrics.scores.total={_target_: plug.parts.Metric}",
            "metrics.interval.n_resamples=100",
            self.executor,
            "run.workers=1",
        ]

    def write(self) -> None:
        """Write the package, the data, and the options that name both."""
        data = self.folder / "data"
        tiny.write(data, tiny.documents(), tiny.questions())
        write(self.folder / "code")
        options = {
            "dataset/own": f"hook.parts.Data\ndocuments: {data}/documents.jsonl\nsamples: {data}/samples.jsonl",
            "chunk/own": "plug.parts.Chunker",
            "chunk/hooked": "hook.parts.Chunker",
            "reranker/own": "plug.parts.Reranker\ndepth: 20",
            **{f"llm/{kind}": target for kind, target in KINDS.items()},
        }
        for name, target in options.items():
            file = self.folder / "conf" / f"{name}.yaml"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"_target_: {target}\n", encoding="utf-8")


@dataclass(frozen=True)
class _Trial:
    """The sweeps of one case, all with the same cell, with stores by name."""

    case: Case
    is_hooked: bool
    run_steps: RunSteps

    def step(self, store: str, edit: Mapping[Path, str] | None = None) -> dict[str, Json]:
        place = self.case.folder / f"stores-{self.is_hooked}" / store
        return step(place, self.case.overrides(hooked_chunker=self.is_hooked), edit)

    def run(self, *steps: Mapping[str, Json], environment: Mapping[str, str] | None = None) -> list[Found]:
        return self.run_steps(steps, self.case.folder / "code", environment or {})

    def problems(self, moments: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield every check by its name, with its problem, or "" for none."""
        self.case.write()
        edit = make_edit(self.case.folder / "code", self.case.place)
        undone = {file: file.read_text(encoding="utf-8") for file in edit}
        (old,) = self.run(self.step("fresh-old"))
        _apply(edit)
        (new,) = self.run(self.step("fresh-new"))
        if old == new or "refused" in old:
            raise RuntimeError(f"{self.case.place}: an edit must change the result, and the code must run: {old}")
        for moment in moments:
            _apply(undone)
            store = moment.replace(",", "").replace(" ", "-")
            yield moment, self._at(moment, store, edit, old, new)
            _apply(edit)
            yield f"{moment}, and run again", _problem(self.run(self.step(store))[0], new)
            _apply(undone)
            yield f"{moment}, and undone", _problem(self.run(self.step(store))[0], old)

    def _at(self, moment: str, store: str, edit: Mapping[Path, str], old: Found, new: Found) -> str:
        if moment == "before":
            self.run(self.step(store))
            _apply(edit)
            return _problem(self.run(self.step(store))[0], new)
        if moment == "after, in one process":
            first, second = self.run(self.step(store), self.step(store, edit))
            return _problem(first, old) or _problem(second, new, may_refuse=True)
        environment = {"EDIT_AT_CHUNK" if self.is_hooked else "EDIT_AT_LOAD": variable(edit)}
        (found,) = self.run(self.step(store), environment=environment)
        return _problem(found, old, new, may_refuse=True)


def compare_places(
    folder: Path,
    places: Sequence[str],
    moments: Sequence[str],
    kinds: Sequence[str] = tuple(KINDS),
    run_steps: RunSteps = in_new_process,
) -> Tally:
    """Compare every place at every moment, in a cell with the user's model and in a cell with a baseline."""
    tally = Tally()
    for number, (place, kind) in enumerate((place, kind) for place in places for kind in kinds):
        case = Case(folder / f"case-{number}", place, kind, _EXECUTORS[number % len(_EXECUTORS)])
        for is_hooked in (False, True):
            own = [moment for moment in moments if (moment == _HOOKED) == is_hooked]
            for name, problem in _Trial(case, is_hooked, run_steps).problems(own) if own else ():
                tally.n_tried += 1
                if problem:
                    tally.differences.append(f"{place}, edited {name} ({kind}, {case.executor}): {problem}")
        shutil.rmtree(case.folder, ignore_errors=True)
    return tally


def _apply(edit: Mapping[Path, str]) -> None:
    for file, text in edit.items():
        file.write_text(text, encoding="utf-8")


def _problem(found: Found, *right: Found, may_refuse: bool = False) -> str:
    """Return "" for a right outcome, otherwise the problem."""
    if found in right or (may_refuse and "refused" in found):
        return ""
    if "refused" in found:
        return f"refused: {str(found['refused']).strip().splitlines()[-1][:200]}"
    return f"other results than with a fresh store: {found['metrics'].get('total', '')}"
