"""Runs one generation: the estimate before it, the waves, the files, and the summary after it."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from components.errors import BudgetReached
from components.json_value import Json
from runner.console.display import make_console
from runner.console.styled_text import count
from runner.engine.environment import versions
from runner.engine.hidden_answers import HiddenAnswers
from runner.engine.spending import Spending
from runner.engine.store.locks import hold_lock
from runner.output.money import spent_text
from runner.results.released_set import Testset
from runner.results.set_files import require_replaceable
from runner.testset.making.coverage import coverage
from runner.testset.making.draft_outcomes import DraftOutcome, EvidenceOutcome
from runner.testset.making.generation_loop import GenerationLoop, GenerationState, budget_message
from runner.testset.making.generation_settings import GenerationSettings
from runner.testset.making.generation_tables import short_lines, show_bound, show_coverage, votes_line
from runner.testset.making.request_estimate import estimate_requests
from runner.testset.releasing.release import release

EXIT_FULL, EXIT_SHORT, EXIT_INTERRUPTED = 0, 1, 130


def run(settings: GenerationSettings, config: dict[str, Json]) -> int:
    """Make the set, print the progress, and return the exit code.

    Raises RagGridError for unusable settings, data or folders, and if a component fails.
    """
    console = make_console()
    out, about = Path(settings.out), _about(settings, config)
    require_replaceable(out, about)
    with (
        closing(_Progress(console, is_shown=settings.run.progress)) as progress,
        closing(GenerationLoop(settings, progress)) as making,
        _warn_of_hidden_answers(making.hidden, console),
    ):
        try:
            state = making.begin(ask=not settings.run.plan_only)
        except BudgetReached as reached:
            console.print(
                f"Not started: {budget_message(reached)} while the topics were drafted. "
                "Run the same command again: finished work is cached.",
                markup=False,
            )
            return EXIT_SHORT
        show_bound(console, state, estimate_requests(settings, state.documents, state.topics), settings)
        if settings.run.plan_only:
            console.print(
                "No request was sent. Without run.plan_only=true, the same command generates the set.", markup=False
            )
            return EXIT_FULL
        making.run(state)
        if state.stopped and all(tried.outcome is DraftOutcome.PENDING for tried in state.tried):
            console.print(f"Nothing was generated or written: {state.stopped}", markup=False)
            return EXIT_SHORT
        with hold_lock(making.store.root / "locks" / f"set-{_name_run(out)}.lock", f"writing {out}"):
            testset = release(out, state, about)
        spent = making.spent
    return _summarize(console, settings, state, testset, spent)


@contextmanager
def _warn_of_hidden_answers(hidden: HiddenAnswers, console: Console) -> Iterator[None]:
    """When the context ends, name the variables whose values were hidden in answers."""
    try:
        yield
    finally:
        for line in hidden.lines():
            console.print(line, style="yellow", markup=False)


def _name_run(out: Path) -> str:
    return sha256(str(out.resolve()).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _summarize(
    console: Console, settings: GenerationSettings, state: GenerationState, testset: Testset, spent: Spending
) -> int:
    """Print the results and return the exit code."""
    out = Path(settings.out)
    counts = coverage(state)
    show_coverage(console, state, counts)
    if state.votes:
        console.print(votes_line(state.votes, testset.about["voters_agreement"]), markup=False)
    console.print(f"spent:    {spent_text(spent, settings.prices) if spent.n_requests else 'nothing'}", markup=False)
    console.print(
        f"set:      {out}: {count(len(testset.samples), 'sample')}, {count(len(testset.documents), 'document')}",
        markup=False,
    )
    is_short = any(count.short for count in counts.values())
    if state.stopped:
        console.print(
            f"Not finished: {state.stopped}. Run the same command again: finished work is cached.",
            markup=False,
        )
    elif is_short:
        for line in short_lines(counts):
            console.print(line, markup=False, soft_wrap=True)
        console.print(
            f"Some matrix fields have fewer samples than requested; see {out}/coverage.csv.",
            markup=False,
            soft_wrap=True,
        )
    folder = shlex.quote(str(out))
    if state.tried:
        console.print(
            f"look:     python -m analysis testset {folder} --html {folder}.html", markup=False, soft_wrap=True
        )
    if testset.samples:
        console.print(
            f"next:     python -m runner dataset=jsonl dataset.documents={folder}/documents.jsonl "
            f"dataset.samples={folder}/samples.jsonl language={settings.language.name}",
            markup=False,
            soft_wrap=True,
        )
    return EXIT_SHORT if is_short or state.stopped else EXIT_FULL


def _about(settings: GenerationSettings, config: dict[str, Json]) -> dict[str, Json]:
    """Return the models, configuration and versions for the manifest, without anything that differs between runs of one
    configuration.
    """
    recorded = {name: value for name, value in config.items() if name not in ("out", "run", "budget", "prices")}
    models = {name: getattr(model, "model", type(model).__name__) for name, model in _models(settings).items()}
    return {"models": models, "configuration": recorded, "versions": versions()}


def _models(settings: GenerationSettings) -> dict[str, object]:
    return {"writer": settings.llm, "checker": settings.checker}


class _Progress:
    """Prints one line for each wave. In a terminal, also shows the current requests."""

    def __init__(self, console: Console, *, is_shown: bool) -> None:
        self._console = console
        self._status = console.status("reading the corpus") if is_shown and console.is_terminal else None
        if self._status:
            self._status.start()

    def stage(self, title: str, done: int, total: int) -> None:
        if self._status:
            self._status.update(f"{escape(title)}: {done:,} of {total:,} replies")

    def wave(self, state: GenerationState, tried: Sequence[EvidenceOutcome]) -> None:
        n = sum(each.outcome is DraftOutcome.ACCEPTED for each in state.tried)
        n_requested = state.requested.per_cell * len(state.requested.cells)
        n_new = sum(each.outcome is DraftOutcome.ACCEPTED for each in tried)
        self._console.print(
            f"wave {state.n_waves}: {len(tried)} evidence sets tried, {n_new} accepted; {n} of {n_requested} samples",
            markup=False,
        )

    def close(self) -> None:
        if self._status:
            self._status.stop()
