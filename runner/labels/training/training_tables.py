"""Tables of the commands that train and evaluate a judge."""

from collections.abc import Mapping

from rich.table import Table

from components.json_value import Json
from components.statistics.agreement import Agreement, Measure
from runner.labels.training.evaluating import ComparedJudges
from runner.labels.training.prepared_folder import SPLITS, TrainingManifest
from runner.labels.training.trained import Training


def prepared_table(manifest: TrainingManifest) -> Table:
    """Return the number of pairs by metric and split, with the numbers of each grade."""
    table = _table("Training pairs", ("metric", *SPLITS))
    for metric in dict.fromkeys(name for split in SPLITS for name in manifest.counts[split]):
        table.add_row(metric, *(_balance(manifest.counts[split].get(metric, {})) for split in SPLITS))
    table.add_row("questions", *(str(manifest.n_questions[split]) for split in SPLITS))
    return table


def losses_table(training: Training) -> Table:
    """Return the losses of each epoch, in nats per token of the replies."""
    table = _table("Loss per token of a reply", ("epoch", "training", "validation"))
    for number, (trained, validated) in enumerate(training.losses, start=1):
        kept = " [bold](kept)[/]" if number == training.kept else ""
        table.add_row(f"{number}{kept}", f"{trained:.3f}", "–" if validated is None else f"{validated:.3f}")
    return table


def compared_table(compared: Mapping[str, ComparedJudges]) -> Table:
    """Return the share of equal grades and kappa, before and after, in two rows for each metric."""
    columns = ("metric", "", "n", "questions", "before", "after", "difference", "unreadable before", "after", "failed")
    table = _table("Judge against human labels, before and after training [dim]95% intervals[/]", columns)
    for name, found in compared.items():
        if found.before is None or found.after is None or found.gain is None:
            table.add_row(name, "", "0", "0", "–", "–", "–", "–", "–", str(found.n_failed))
            continue
        facts = (str(found.before.n), str(found.before.n_questions))
        left = (*map(str, found.n_unparsable), str(found.n_failed))
        before, after, gain = found.before, found.after, found.gain
        rows = {
            "accuracy": (before.accuracy, after.accuracy, gain.accuracy),
            "kappa": (before.kappa, after.kappa, gain.kappa),
        }
        for number, (measure, (old, new, more)) in enumerate(rows.items()):
            values = (_shown(old, ".3f"), _shown(new, ".3f"), _shown(more, "+.3f"))
            table.add_row(*(("", measure, "", "", *values) if number else (name, measure, *facts, *values, *left)))
    return table


def as_json(compared: Mapping[str, ComparedJudges]) -> dict[str, Json]:
    """Return the comparisons by metric. An interval is null for fewer than 5 questions, a value is null if it is
    undefined.
    """
    return {name: _entry(found) for name, found in compared.items()}


def _entry(found: ComparedJudges) -> dict[str, Json]:
    entry: dict[str, Json] = {"n_failed": found.n_failed, "failures": dict(found.failures)}
    if found.before is None or found.after is None or found.gain is None:
        return {"n": 0, **entry}
    unparsable = dict(zip(("before", "after"), found.n_unparsable, strict=True))
    return {
        "n": found.before.n,
        "n_questions": found.before.n_questions,
        **entry,
        "n_unparsable": unparsable,
        "before": _measures(found.before),
        "after": _measures(found.after),
        "gain": {name: _measure(getattr(found.gain, name)) for name in ("accuracy", "kappa")},
    }


def _measures(agreement: Agreement) -> dict[str, Json]:
    return {name: _measure(getattr(agreement, name)) for name in ("accuracy", "kappa", "weighted_kappa")}


def _measure(measure: Measure) -> dict[str, Json]:
    return {"value": measure.value, "interval": measure.interval}


def _shown(measure: Measure, form: str) -> str:
    if measure.value is None:
        return "–"
    if measure.interval is None:
        return f"{measure.value:{form}} [dim]too few questions[/]"
    low, high = measure.interval
    return f"{measure.value:{form}} [dim]{low:{form}} {high:{form}}[/]"


def _table(title: str, columns: tuple[str, ...]) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left", no_wrap=True)
    return table


def _balance(counts: Mapping[str, int]) -> str:
    parts = ", ".join(f"{grade}: {n}" for grade, n in counts.items())
    return f"{sum(counts.values())} [dim]({parts})[/]" if counts else "–"
