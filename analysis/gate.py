"""python -m analysis gate: exits with 1 if a cell is worse than a baseline, for continuous integration."""

import argparse
import json
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from rich.markup import escape

from analysis import table_output as terminal
from analysis.baseline import (
    Baseline,
    BaselineMetric,
    SampleId,
    choose_cell,
    has_same_corpus,
    hash_definition,
    read_baseline,
    sample_rows,
    scored_samples,
)
from analysis.compare import share
from analysis.comparison import samples_needed
from analysis.comparison_family import exclusion_text
from analysis.table_output import UNKNOWN, TableColumn
from components.errors import DataError
from components.limits import expected_one_of
from components.records import ScoreState
from components.statistics import (
    POWER,
    Comparison,
    PairedTest,
    SampleScores,
    holm,
    minimum_detectable_difference,
    right_or_wrong,
)
from runner import results
from runner.console.command_parser import CELL, SWEEP
from runner.console.display import escape_control, estimate, significant_digits
from runner.console.styled_text import count, join_names
from runner.results import OPTIMISTIC, CellResult, LoadedSweep, chose_by_scores, search_text

PASSED, WORSE, UNCLEAR = "passed", "worse", "cannot tell"
EXIT_CODES = {PASSED: 0, WORSE: 1, UNCLEAR: 3}

_MAX_FILES = 5
MARGIN = 0.01
"""Largest acceptable loss if the user names none."""


@dataclass(frozen=True)
class MetricCheck:
    """The check of one metric.

    The means are over the samples that both have. `difference` and its interval [`low`, `high`] are gains: positive if
    the cell is better. The interval is None if too few groups of samples show no spread. `p` is corrected for the other
    metrics. `detectable` is the smallest loss that would be found with probability `POWER`, and `n_needed` the samples
    that would exclude a loss of `margin` with this probability if there is none; None if unknown. `lost` counts samples
    of the baseline without a value, by reason. `n_new` samples are not part of the baseline. `outdated` names files
    that changed since stored results of the cell were computed, "" for none.
    """

    metric: str
    margin: float
    n: int
    n_clusters: int
    before: float
    after: float
    difference: float
    low: float | None
    high: float | None
    p: float
    detectable: float | None
    n_needed: int | None
    lost: Counter[str]
    n_new: int
    is_same: bool
    alpha: float
    outdated: str = ""

    @property
    def verdict(self) -> str:
        """PASSED if a loss of more than the margin is excluded, or if all scores are the same. Otherwise, WORSE if
        there is a significant loss.
        """
        is_excluded = self.is_same or (self.low is not None and self.low >= -self.margin)
        if is_excluded and not self.lost and not self.outdated:
            return PASSED
        return WORSE if not is_excluded and self.p <= self.alpha and self.difference < 0 else UNCLEAR

    @property
    def reason(self) -> str:
        """The sentence behind the verdict."""
        if self.verdict == WORSE:
            return f"{self.metric} is significantly worse by {significant_digits(-self.difference)} (p {self.p:.4f})"
        if self.verdict == PASSED:
            same = "the same scores for every sample"
            return f"{self.metric}: {same if self.is_same else f'no loss of more than {self.margin:g}'}"
        if self.outdated:
            return (
                f"{self.metric}: stored results may be outdated, because {self.outdated} changed since then. Change "
                "the revision of the pipeline (docs/identity.md)"
            )
        if self.lost:
            return f"{self.metric}: samples of the baseline could not be compared: {exclusion_text(self.lost)}"
        unclear = f"{self.metric}: {self.n:,} samples cannot exclude a loss of more than {self.margin:g}"
        if self.detectable is None:
            return f"{unclear}: too few of their {count(self.n_clusters, 'group')} have another score than the baseline"
        needed = f"about {estimate(self.n_needed)} samples would suffice if the true loss is 0" if self.n_needed else ""
        return f"{unclear}; {needed}" if needed else unclear


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to the parser."""
    parser.add_argument("sweep", help=SWEEP)
    parser.add_argument("cell", nargs="?", default="", help=f"{CELL} (default: the only cell)")
    parser.add_argument(
        "--baseline", type=Path, required=True, metavar="FILE", help="file that `python -m analysis baseline` wrote"
    )
    parser.add_argument(
        "--margin",
        action="append",
        default=[],
        type=_margin,
        metavar="[METRIC=]LOSS",
        help=f"largest acceptable loss, for every metric or for METRIC (default: {MARGIN:g})",
    )
    parser.add_argument(
        "--alpha",
        type=share,
        default=0.05,
        metavar="SHARE",
        help="significance level: probability of a false alarm (default: %(default)s)",
    )
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also write the checks as JUnit XML to this file")
    terminal.add_format(parser)


def _margin(text: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    try:
        margin = float(number)
    except ValueError:
        margin = math.nan
    if not 0 <= margin < math.inf:
        raise argparse.ArgumentTypeError(f"got {text}, expected a loss such as 0.01, or rouge_l=0.01")
    return name, margin


def run(options: argparse.Namespace) -> int:
    """Print the checks and write the requested file. Returns 0 if all passed, 1 if a metric is worse, otherwise 3.

    Raises DataError if the sweep or the baseline cannot be read, or if they cannot be compared. The requested file then
    has the message.
    """
    try:
        return _run(options)
    except DataError as error:
        if options.junit:
            terminal.write_text(options.junit, junit([JunitCase("comparison", "error", "not comparable", str(error))]))
        raise


def _run(options: argparse.Namespace) -> int:
    baseline = read_baseline(options.baseline)
    sweep = results.load(options.sweep)
    cell = choose_cell(sweep, options.cell)
    checks = check(baseline, sweep, cell, margins(baseline, dict(options.margin)), alpha=options.alpha)
    outdated = join_names(_edited_files(sweep, cell)[:_MAX_FILES])
    checks = [replace(each, outdated=outdated) for each in checks]
    _show(options.format, baseline, cell, checks)
    for search in sweep.searches:
        why = f"; {OPTIMISTIC}" if chose_by_scores(search) else ""
        terminal.make_console(options.format).print(f"[dim]{search_text(search)}{why}[/]")
    if options.junit:
        terminal.write_text(options.junit, junit(list(map(_junit_case, checks))))
    verdicts = {result.verdict for result in checks}
    return EXIT_CODES[next(verdict for verdict in (WORSE, UNCLEAR, PASSED) if verdict in verdicts)]


def _edited_files(sweep: LoadedSweep, cell: CellResult) -> list[str]:
    """Return files and folders that no key covers, that a component of the cell reads, and that changed since its
    stored results were computed.
    """
    files = results.read_sweep(sweep.folder).plan.get("edited_files")
    used = json.dumps(cell.config).replace(":", ".")
    names = [
        name
        for component, names in (files.items() if isinstance(files, Mapping) else ())
        if component in used and isinstance(names, list)
        for name in names
    ]
    return sorted({escape_control(str(name)) for name in names})


def _show(form: str, baseline: Baseline, cell: CellResult, checks: Sequence[MetricCheck]) -> None:
    rows = [(row, terminal.n_digits([row.before, row.after])) for row in checks]
    columns = [
        TableColumn("metric", [escape(row.metric) for row in checks], is_number=False),
        TableColumn("baseline", [terminal.number(row.before, n) for row, n in rows]),
        TableColumn("now", [terminal.number(row.after, n) for row, n in rows]),
        TableColumn("gain", [terminal.number(row.difference, n, "+") for row, n in rows]),
        TableColumn("interval", [terminal.interval(row.low, row.high, n, "+") for row, n in rows]),
        TableColumn("margin", [f"{row.margin:g}" for row in checks]),
        TableColumn("n", [f"{row.n:,}" for row in checks], optional=True),
        TableColumn("groups", [f"{row.n_clusters:,}" for row in checks], optional=True),
        TableColumn(
            "detectable loss",
            [UNKNOWN if row.detectable is None else significant_digits(row.detectable) for row in checks],
            optional=True,
        ),
        TableColumn("verdict", [row.verdict for row in checks], is_number=False),
    ]
    console = terminal.make_console(form)
    terminal.show_table(console, f"{cell.cell_id[:8]} against {escape(baseline.cell[:8])}, the baseline", columns)
    for row in checks:
        console.print(escape(f"{row.verdict.upper()}: {row.reason}."))
    keys = [axes.get(results.DATA_KEY) for axes in (baseline.axes, cell.axes)]
    if keys[0] != keys[1] and None not in keys:
        reach = (
            "changed conditions and given passages may explain part of a gain or loss"
            if has_same_corpus(baseline, cell)
            else "changed spans of gold and changed documents may explain part of a gain or loss"
        )
        console.print(f"the data set has changed since the baseline ({results.DATA_KEY}): {reach}")
    if n_new := max(row.n_new for row in checks):
        samples = "1 sample is" if n_new == 1 else f"{n_new:,} samples are"
        console.print(f"[dim]{samples} not part of the baseline and not compared[/]")
    console.print(
        f"[dim]gains and intervals ({100 * (1 - checks[0].alpha):.4g}%) are over the samples that both have; "
        f"detectable: found with {POWER:.0%} probability[/]"
    )


@dataclass(frozen=True)
class JunitCase:
    """A test case of JUnit XML. `outcome` is "failure", "error", or "" for a case that passed."""

    name: str
    outcome: str
    kind: str
    message: str


def _junit_case(result: MetricCheck) -> JunitCase:
    """A check that is worse is a failure, and an undecided one is an error."""
    outcome = {PASSED: "", WORSE: "failure", UNCLEAR: "error"}[result.verdict]
    return JunitCase(result.metric, outcome, result.verdict, result.reason)


def junit(cases: Sequence[JunitCase]) -> str:
    """Return the cases as JUnit XML."""
    counts = Counter(case.outcome for case in cases)
    suite = ElementTree.Element(
        "testsuite",
        name="rag-grid gate",
        tests=str(len(cases)),
        failures=str(counts["failure"]),
        errors=str(counts["error"]),
    )
    for case in cases:
        element = ElementTree.SubElement(suite, "testcase", classname="gate", name=escape_control(case.name))
        if case.outcome:
            ElementTree.SubElement(element, case.outcome, type=case.kind, message=escape_control(case.message))
    ElementTree.indent(suite)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(suite, encoding="unicode")}\n'


def margins(baseline: Baseline, named: Mapping[str, float]) -> dict[str, float]:
    """Return the margin of each metric of the baseline; in `named`, "" stands for all other metrics.

    Raises DataError for a metric that the baseline lacks.
    """
    if unknown := sorted(set(named) - {"", *baseline.metrics}):
        raise DataError(f"--margin: got {unknown[0]!r}{expected_one_of(unknown[0], baseline.metrics)}")
    return {metric: named.get(metric, named.get("", MARGIN)) for metric in baseline.metrics}


def check(
    baseline: Baseline, sweep: LoadedSweep, cell: CellResult, margin_of: Mapping[str, float], *, alpha: float = 0.05
) -> list[MetricCheck]:
    """Compare a cell with the baseline by each of its metrics.

    Raises DataError for a metric that the sweep lacks or defines differently.
    """
    same_corpus = has_same_corpus(baseline, cell)
    pairs = [_pair(name, before, sweep, cell, same_corpus=same_corpus) for name, before in baseline.metrics.items()]
    return make_checks(pairs, margin_of, PairedTest(confidence=1 - alpha))


def make_checks(pairs: Sequence["Pair"], margin_of: Mapping[str, float], test: PairedTest) -> list[MetricCheck]:
    """Return the check of each pair, at the error rate of the test.

    p-values of the metrics are corrected for each other (Holm). Passing needs no correction, because all metrics must
    pass.
    """
    alpha = 1 - test.confidence
    compared = [test.compare(pair.scores, alpha / len(pairs))[0] for pair in pairs]
    corrected = holm([_require_value(comparison.p) for comparison in compared]).tolist()
    return [
        _check(pair, comparison, p, margin_of[pair.metric], alpha)
        for pair, comparison, p in zip(pairs, compared, corrected, strict=True)
    ]


@dataclass(frozen=True)
class Pair:
    """Scores of the baseline and of the cell on the samples that both have. `sign` is -1 if smaller is better."""

    metric: str
    sign: int
    scores: SampleScores
    lost: Counter[str] = field(default_factory=Counter)
    n_new: int = 0


def _pair(name: str, before: BaselineMetric, sweep: LoadedSweep, cell: CellResult, *, same_corpus: bool) -> Pair:
    metric = sweep.metric(name)
    if metric.direction() != before.larger_is_better:
        raise DataError(f"{metric}: larger_is_better differs from the baseline. Write the baseline again.")
    now = hash_definition(cell, metric.metric)
    if now and now != before.definition:
        raise DataError(f"{metric}: its settings differ from the baseline. Write the baseline again.")
    scored = scored_samples(sweep, cell, metric)
    rows = sample_rows(scored)
    if not same_corpus:
        rows = {sample._replace(spans=""): row for sample, row in rows.items()}
        before = replace(before, scores={sample._replace(spans=""): row for sample, row in before.scores.items()})
    valued = {sample for sample, row in rows.items() if scored.states[row] == ScoreState.VALUE}
    common = [sample for sample in before.scores if sample in valued]
    if not valued:
        reasons = ", ".join(f"{name} {n:,}" for name, n in Counter(scored.states).most_common())
        raise DataError(
            f"{cell.cell_id}: no sample has a value of {metric.metric} ({reasons}). Look at the cell: python -m "
            f"analysis samples {sweep.name} {cell.cell_id}"
        )
    if not common:
        raise DataError(
            f"{cell.cell_id}: has none of the baseline's samples with a value of {metric.metric}. Gate the same data "
            "set, or, if it was changed on purpose, write the baseline again."
        )
    after = scored.statistics[[rows[sample] for sample in common]]
    earlier = np.array([before.scores[sample] for sample in common])
    if earlier.shape != after.shape:
        raise DataError(
            f"{metric}: its definition has changed since the baseline was written. Write the baseline again."
        )
    is_corpus = results.is_corpus_metric(sweep.folder_of(cell), metric.metric)
    scores = SampleScores(
        np.stack([earlier, after], axis=1),
        scored.clusters[[rows[sample] for sample in common]],
        np.zeros(len(common), np.int64),
        results.combiner(cell, metric.metric) if is_corpus else None,
    )
    ids = {sample.id for sample in rows}
    lost = Counter(_reason(sample, rows, scored.states, ids) for sample in before.scores if sample not in valued)
    known = {sample.id for sample in before.scores}
    n_new = sum(sample.id not in known for sample in valued)
    return Pair(name, 1 if metric.direction() else -1, scores, lost, n_new)


def _reason(sample: SampleId, rows: Mapping[SampleId, int], states: Sequence[str], ids: Collection[str]) -> str:
    if sample in rows:
        return str(states[rows[sample]])
    return "with another question, history, gold or references" if sample.id in ids else "not in this cell"


def _check(pair: Pair, comparison: Comparison, p: float, margin: float, alpha: float) -> MetricCheck:
    before, after = pair.scores.statistics[:, 0], pair.scores.statistics[:, 1]
    combine = pair.scores.combine
    means = [float(rows.mean(axis=0)[0] if combine is None else combine(rows.sum(axis=0))) for rows in (before, after)]
    bounds = [None if bound is None else pair.sign * bound for bound in (comparison.low, comparison.high)]
    low, high = bounds if pair.sign > 0 else reversed(bounds)
    return MetricCheck(
        metric=pair.metric,
        margin=margin,
        n=comparison.n,
        n_clusters=comparison.n_clusters,
        before=means[0],
        after=means[1],
        difference=pair.sign * _require_value(comparison.difference),
        low=low,
        high=high,
        p=p,
        detectable=_detectable(pair, comparison),
        n_needed=samples_needed(comparison, margin, comparison.critical),
        lost=pair.lost,
        n_new=pair.n_new,
        is_same=bool((before == after).all()),
        alpha=alpha,
    )


def _require_value(value: float | None) -> float:
    assert value is not None, "both have samples in common"
    return value


def _detectable(pair: Pair, comparison: Comparison) -> float | None:
    if not comparison.standard_error or comparison.critical is None or not math.isfinite(comparison.critical):
        return None
    (scores,) = right_or_wrong(pair.scores, np.array([[-1.0], [1.0]]))
    size = minimum_detectable_difference(
        comparison.standard_error, comparison.df, critical=comparison.critical, right_or_wrong=scores
    )
    return size if math.isfinite(size) else None
