"""Tables of the commands that train and evaluate a judge."""

from collections.abc import Mapping

from rich.table import Table

from components.json_value import Json
from components.statistics.agreement import Agreement, Measure
from runner.labels.training.evaluating import ComparedJudges
from runner.labels.training.prepared_folder import SPLITS, TrainingManifest
from runner.labels.training.trained_judge import Training


def prepared_table(manifest: TrainingManifest) -> Table:
    """Return the number of pairs by metric and split, with the numbers of each grade."""
    table = _table("Training pairs", ("metric", *SPLITS))
    for metric in dict.fromkeys(name for split in SPLITS for name in manifest.counts[split]):
        table.add_row(metric, *(_balance(manifest.counts[split].get(metric, {})) for split in SPLITS))
    table.add_row("questions", *(str(manifest.n_questions[split]) for split in SPLITS))
    return table


def losses_table(training: Training) -> Table:
    """Return the losses of each epoch, in nats per token of the replies."""
    table = _table("Loss per reply token (nats)", ("epoch", "training", "validation"))
    for number, (trained, validated) in enumerate(training.losses, start=1):
        mark = " [bold](kept)[/]" if number == training.kept else ""
        table.add_row(f"{number}{mark}", f"{trained:.3f}", "–" if validated is None else f"{validated:.3f}")
    return table


def compared_table(compared: Mapping[str, ComparedJudges]) -> Table:
    """Return the share of equal grades and kappa, before and after, in two rows for each metric."""
    columns = (
        "metric",
        "",
        "n",
        "questions",
        "before",
        "after",
        "difference",
        "unreadable replies before",
        "after",
        "failed",
    )
    table = _table("Judge against human labels, before and after training [dim]95% intervals[/]", columns)
    for name, comparison in compared.items():
        if comparison.before is None or comparison.after is None or comparison.gain is None:
            table.add_row(name, "", "0", "0", "–", "–", "–", "–", "–", str(comparison.n_failed))
            continue
        facts = (str(comparison.before.n), str(comparison.before.n_questions))
        failures = (*map(str, comparison.n_unparsable), str(comparison.n_failed))
        before, after, gain = comparison.before, comparison.after, comparison.gain
        rows = {
            "accuracy": (before.accuracy, after.accuracy, gain.accuracy),
            "kappa": (before.kappa, after.kappa, gain.kappa),
        }
        for number, (measure, (old, new, more)) in enumerate(rows.items()):
            values = (_measure_text(old, ".3f"), _measure_text(new, ".3f"), _measure_text(more, "+.3f"))
            table.add_row(*(("", measure, "", "", *values) if number else (name, measure, *facts, *values, *failures)))
    return table


def as_json(compared: Mapping[str, ComparedJudges]) -> dict[str, Json]:
    """Return the comparisons by metric. An interval is null for fewer than 5 questions, a value is null if it is
    undefined.
    """
    return {name: _entry(comparison) for name, comparison in compared.items()}


def _entry(comparison: ComparedJudges) -> dict[str, Json]:
    entry: dict[str, Json] = {"n_failed": comparison.n_failed, "failures": dict(comparison.failures)}
    if comparison.before is None or comparison.after is None or comparison.gain is None:
        return {"n": 0, **entry}
    unparsable = dict(zip(("before", "after"), comparison.n_unparsable, strict=True))
    return {
        "n": comparison.before.n,
        "n_questions": comparison.before.n_questions,
        **entry,
        "n_unparsable": unparsable,
        "before": _measures(comparison.before),
        "after": _measures(comparison.after),
        "gain": {name: _measure(getattr(comparison.gain, name)) for name in ("accuracy", "kappa")},
    }


def _measures(agreement: Agreement) -> dict[str, Json]:
    return {name: _measure(getattr(agreement, name)) for name in ("accuracy", "kappa", "weighted_kappa")}


def _measure(measure: Measure) -> dict[str, Json]:
    return {"value": measure.value, "interval": measure.interval}


def _measure_text(measure: Measure, form: str) -> str:
    if measure.value is None:
        return "–"
    if measure.interval is None:
        return f"{measure.value:{form}} [dim]too few questions[/]"
    low, high = measure.interval
    return f"{measure.value:{form}} [dim]{low:{form}} {high:{form}}[/]"


def _table(title: str, columns: tuple[str, ...]) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left", no_wrap=True)
    return table


def _balance(counts: Mapping[str, int]) -> str:
    parts = ", ".join(f"{grade}: {n}" for grade, n in counts.items())
    return f"{sum(counts.values())} [dim]({parts})[/]" if counts else "–"
