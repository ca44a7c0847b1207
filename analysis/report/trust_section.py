"""Section: limits of the numbers. Every check reports its result, even if it finds no problem."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from analysis.report.report_input import MANY_LEVELS, ReportSource
from components.json_value import Json
from components.records import AnswerState, ScoreState
from components.subsets import OVERALL
from runner.console.excluded_samples import excluded_texts
from runner.console.styled_text import count, join_names
from runner.console.unreadable_replies import judges_by_cause
from runner.results import (
    CONDITION,
    COVERAGE,
    MANY_CELLS,
    NO_EFFECTS,
    OK,
    OPTIMISTIC,
    STAND_INS,
    WHOLE_GOLD_ADVICE,
    CellResult,
    chose_by_scores,
    count_whole_gold,
    coupling_notes,
    effective_groups_note,
    groups_note,
    read_samples,
    search_text,
    varies_chunks,
)

WARNING, NOTE, FINE = "warning", "note", "ok"

FEW_GROUPS = 20
FEW_SAMPLES_OF_A_FIELD = 10

_MODEL_FREE = ("extractive", "none")
"""Options of the axis llm without random draws."""


@dataclass(frozen=True)
class TrustCheck:
    """The result of a check: a warning, a note for the reader, or nothing to worry about."""

    kind: str
    head: str
    text: str


def gather(source: ReportSource) -> tuple[TrustCheck, ...]:
    """Return warnings first, then notes for the reader, then checks without a finding."""
    cells = [cell for cell in source.sweep.cells if cell.status == OK]
    checks = [
        *_cells(source),
        *_size(source),
        *_stand_ins(cells),
        *_noise(cells),
        *_check_unseen_axes(source),
        *_scripted_judge(cells),
        *_samples(source),
        *_fields(cells, source),
        *_left_out(source, cells),
        *_answers(cells),
        *_judges(cells),
        *_cut(source, cells),
        *_gold(cells),
        *_whole_gold(source),
        *_coupled_axes(cells),
        *_draws(cells),
        *_code(cells),
    ]
    order = (WARNING, NOTE, FINE)
    return tuple(sorted(checks, key=lambda check: order.index(check.kind)))


def _cells(source: ReportSource) -> Iterator[TrustCheck]:
    sweep = source.sweep
    if failed := sweep.failed:
        text = f"{len(failed)} of {count(len(sweep.cells), 'cell')}: nothing here says how good they are."
        yield TrustCheck(WARNING, "Cells failed", text)
    raced = [cell for cell in sweep.stopped if cell.race]
    if raced:
        text = (
            f"{len(raced)} of {count(len(sweep.cells), 'cell')}, which can no longer win. They are not missing "
            "at random: effects of axes and all other tables cover the other cells only."
        )
        yield TrustCheck(NOTE, "The race stopped cells", text)
    if n_stopped := len(sweep.stopped) - len(raced):
        text = f"{n_stopped} of {count(len(sweep.cells), 'cell')}: nothing here says how good they are."
        yield TrustCheck(NOTE, "The user stopped cells", text)
    for search in sweep.searches:
        head = search_text(search).capitalize()
        if chose_by_scores(search):
            yield TrustCheck(WARNING, head, f"{OPTIMISTIC.capitalize()}. {NO_EFFECTS}.")
        elif not search["is_whole"]:
            yield TrustCheck(
                NOTE, head, "The cells were drawn at random. Tables describe these cells, not the whole grid."
            )
    if sweep.unfinished:
        text = f"{count(len(sweep.unfinished), 'cell')} without a result yet: another one may turn out the best."
        yield TrustCheck(WARNING, "The sweep is unfinished", text)
    if not failed and not sweep.stopped and not sweep.unfinished:
        yield TrustCheck(FINE, "Every cell has a result", f"{count(len(sweep.cells), 'cell')}, none failed.")


def _size(source: ReportSource) -> Iterator[TrustCheck]:
    """Report the analyses that the size of the sweep limits."""
    if source.has_many_cells:
        text = (
            f"More than {MANY_CELLS} cells: p-values are based on {source.test.n_resamples:,} resamples, and one "
            "metric is tested. To test another metric: python -m analysis compare."
        )
        yield TrustCheck(NOTE, "Many cells", text)
    if source.crowded_axes:
        axes = join_names(source.crowded_axes)
        text = f"More than {MANY_LEVELS} values of {axes}: the effects of axes are not reported."
        yield TrustCheck(NOTE, "Many values of an axis", text)


def _stand_ins(cells: Sequence[CellResult]) -> Iterator[TrustCheck]:
    """Warn of components that replace models by rules, so that a sweep runs without a download."""
    for (axis, option), (head, text) in STAND_INS.items():
        with_option = [cell for cell in cells if cell.axes.get(axis) == option]
        if with_option:
            extent = f" ({len(with_option)} of {count(len(cells), 'cell')})" if len(with_option) < len(cells) else ""
            yield TrustCheck(WARNING, head, text + extent)


def _noise(cells: Sequence[CellResult]) -> Iterator[TrustCheck]:
    """Warn of cells that differ in the noise of given passages, which is a condition of a test and not a choice."""
    rates = {cell.axes.get(CONDITION) for cell in cells} - {None}
    if len(rates) > 1:
        text = "It sets how hard the test is. Compare models at one rate, and do not choose a rate by its score."
        yield TrustCheck(WARNING, f"{CONDITION} is a test condition", text)


def _coupled_axes(cells: Sequence[CellResult]) -> Iterator[TrustCheck]:
    """Warn of axes that were set together, so that no table separates them."""
    if notes := coupling_notes(cells):
        yield TrustCheck(WARNING, "Axes vary together", f"{'; '.join(notes)}.")


def _check_unseen_axes(source: ReportSource) -> Iterator[TrustCheck]:
    """Report axes that change no value of the main metric."""
    if source.scores is None:
        return
    metric = source.scores.metric
    if axes := source.scores.for_metric(metric).unseen_axes:
        text = f"{join_names(axes)}: cells that differ in nothing else have equal values. Judge them by another metric."
        yield TrustCheck(NOTE, f"Axes that do not affect {metric.metric}", text)


def _scripted_judge(cells: Sequence[CellResult]) -> Iterator[TrustCheck]:
    llms = [(cell.config.get("judge") or {}).get("llm") or {} for cell in cells if cell.judges]
    if any(str(llm.get("_target_")).endswith((".Scripted", ".Rehearsal")) for llm in llms):
        text = "judge.llm replies from a script or a rule: judged scores say nothing about the answers."
        yield TrustCheck(WARNING, "The judge is a stand-in", text)


def _samples(source: ReportSource) -> Iterator[TrustCheck]:
    family = source.main.family if source.main else None
    if family is None:
        return
    worth = effective_groups_note(family.n_clusters, family.n_effective)
    groups = f"{count(family.n, 'sample')} in {count(family.n_clusters, 'independent group')}{worth}"
    if round(family.n_effective) < FEW_GROUPS:
        text = f"{groups}: intervals are wide, and how wide is itself uncertain."
        if family.has_too_few_groups:
            text = (
                f"{groups}: too few for any test. Samples that share a gold document, directly or through others, are "
                "one group. dataset.groups=source and dataset.groups=none assume less dependence: see docs/metrics.md."
            )
        yield TrustCheck(WARNING, "Few independent samples", text)
    else:
        text = f"{groups}. Intervals and tests are over groups, so dependent samples do not count as independent ones."
        yield TrustCheck(NOTE, "Groups of samples", text)
    if note := groups_note(family.sweep.cells):
        text = f"{note}. If other samples depend on one another, intervals are too narrow and p-values too small."
        yield TrustCheck(WARNING, "Another choice of groups", text)


def _fields(cells: Sequence[CellResult], source: ReportSource) -> Iterator[TrustCheck]:
    """Report matrix fields with few samples."""
    main = source.main
    if not cells or main is None:
        return
    sizes = [
        int(entries[main.metric.metric]["n"])
        for subset, entries in cells[0].metrics.items()
        if subset.startswith("matrix/") and main.metric.metric in entries
    ]
    if few := sum(size < FEW_SAMPLES_OF_A_FIELD for size in sizes):
        text = (
            f"{few} of {count(len(sizes), 'matrix field')} of topic x task have fewer than {FEW_SAMPLES_OF_A_FIELD} "
            "samples: no best cell is named in them."
        )
        yield TrustCheck(WARNING if few * 2 > len(sizes) else NOTE, "Few samples in the matrix", text)


def _left_out(source: ReportSource, cells: Sequence[CellResult]) -> Iterator[TrustCheck]:
    """Report samples without a value of the main metric."""
    main = source.main
    if main is None or not cells:
        return
    metric = main.metric
    reasons: dict[str, Counter[str]] = {}
    judged: set[str] = set()
    for cell in cells:
        entry = cell.metrics.get(metric.subset, {}).get(metric.metric, {})
        excluded = Counter(entry.get("n_excluded") or {})
        n_all = entry.get("n", 0) + excluded.total()
        if n_not_drawn := excluded.pop(ScoreState.NOT_DRAWN, 0):
            judged.add(f"{n_all - n_not_drawn:,} of {n_all:,}")
        if excluded:
            reasons[cell.cell_id] = excluded
    if judged:
        text = f"{join_names(sorted(judged))} samples were judged, drawn in proportion to subsets (judge.sample)."
        yield TrustCheck(NOTE, "A part of the samples is judged", text)
    if not reasons:
        yield TrustCheck(
            FINE,
            "No sample is excluded",
            f"Every{' judged' if judged else ''} sample has a value of {metric.metric} in every cell.",
        )
        return
    largest = max(reasons.values(), key=lambda counts: counts.total())
    parts = excluded_texts(dict(sorted(largest.items())))
    why = join_names(parts) if len(parts) > 1 else parts[0].partition(" ")[2]
    differ = main.family.left_out_differ if main.family else False
    up_to = "Up to " if len({counts.total() for counts in reasons.values()}) > 1 else ""
    verb = "has" if largest.total() == 1 else "have"
    in_cells = f"{len(reasons)} of {count(len(cells), 'cell')}"
    if len(reasons) == len(cells):
        in_cells = "both cells" if len(cells) == 2 else f"all {len(cells)} cells" if len(cells) > 2 else "the cell"
    text = f"{up_to}{count(largest.total(), 'sample')} {verb} no value of {metric.metric} ({why}), in {in_cells}."
    if differ:
        text += " Cells exclude different samples, so we compare them on the samples that all cells have."
    yield TrustCheck(WARNING if differ else NOTE, "Samples are excluded", text)


_ENDINGS = {
    AnswerState.ERROR: "failed and are excluded from the scores",
    AnswerState.TRUNCATED: "were truncated at llm.max_new_tokens and are scored as they are",
    AnswerState.EMPTY: "are empty and count as such",
    AnswerState.REFUSED: "were refused and count as empty",
}


def _answers(cells: Sequence[CellResult]) -> Iterator[TrustCheck]:
    not_asked = sum(int(cell.counts.get(AnswerState.NOT_ASKED, 0)) for cell in cells)
    n_answers = sum(sum(cell.counts.values()) for cell in cells) - not_asked
    counted = {state: sum(int(cell.counts.get(state, 0)) for cell in cells) for state in _ENDINGS}
    if any(counted.values()):
        text = "; ".join(f"{n:,} of {n_answers:,} answers {_ENDINGS[state]}" for state, n in counted.items() if n)
        is_bad = counted[AnswerState.ERROR] or counted[AnswerState.TRUNCATED]
        yield TrustCheck(WARNING if is_bad else NOTE, "Failed or incomplete answers", f"{text}.")
    elif n_answers:
        yield TrustCheck(FINE, "No answer failed", f"{count(n_answers, 'answer')} in {count(len(cells), 'cell')}.")


def _judges(cells: Sequence[CellResult]) -> Iterator[TrustCheck]:
    worst, shares, failures, readable = {}, {}, [], []
    for judge in dict.fromkeys(name for cell in cells for name in cell.judges):
        judged = [cell for cell in cells if judge in cell.judges]
        entries = [cell.judges[judge] for cell in judged]
        n_judged, unread = (sum(int(each.get(name, 0)) for each in entries) for name in ("n_judged", "n_unparsable"))
        if n_failed := sum(_count_failed(cell, judge) for cell in judged):
            failures.append(f"{n_failed:,} of {n_judged:,} requests of {judge}")
        if unread:
            worst[judge] = max(entries, key=lambda each: int(each.get("n_unparsable", 0)))
            shares[judge] = f"{unread:,} of {n_judged - n_failed:,} replies of {judge}"
        elif n_judged > n_failed:
            readable.append(f"{n_judged - n_failed:,} of {judge}")
    causes = [
        f"{join_names(shares[judge] for judge in judges)}{f' ({cause})' if cause else ''}"
        for cause, judges in judges_by_cause(worst).items()
    ]
    effect = "A judge then gives no score, and a step leaves its sample unchanged."
    if failures:
        yield TrustCheck(WARNING, "Failed requests of judges and steps", f"{join_names(failures)}. {effect}")
    if causes:
        yield TrustCheck(WARNING, "Unreadable replies", f"{'; '.join(causes)}. {effect}")
    if readable:
        yield TrustCheck(FINE, "All replies of judges and steps could be read", f"{join_names(readable)}.")


def _count_failed(cell: CellResult, judge: str) -> int:
    """Return the number of failed requests of a step, or of samples without a judgement because requests failed."""
    entry = cell.metrics.get(OVERALL, {}).get(judge, {})
    return int(cell.judges[judge].get("n_failed") or entry.get("n_excluded", {}).get(ScoreState.FAILED, 0))


def _cut(source: ReportSource, cells: Sequence[CellResult]) -> Iterator[TrustCheck]:
    """Report texts that are longer than a model reads, and passages that did not fit into prompts."""
    cut_in: dict[str, list[CellResult]] = {}
    for cell in cells:
        for cut in cell.cut_texts:
            if cut["n_cut"]:
                line = f"{cut['model']} reads {cut['limit']:,} tokens: {cut['n_cut']:,} of {cut['n']:,} {cut['texts']}"
                cut_in.setdefault(line, []).append(cell)
    if cut_in:
        lines = (f"{line} were truncated, in {_summarize_cells(source, affected)}" for line, affected in cut_in.items())
        yield TrustCheck(WARNING, "Texts longer than a model reads", f"{'; '.join(lines)}.")
    dropping = [cell for cell in cells if (cell.value("context_tokens_dropped") or 0) > 0]
    if dropping:
        dropping.sort(key=lambda cell: cell.value("context_tokens_dropped") or 0, reverse=True)
        text = (
            f"In {_summarize_cells(source, dropping)}, passages were left out of prompts because the budget was full."
        )
        yield TrustCheck(NOTE, "Prompts that were full", text)


def _summarize_cells(source: ReportSource, cells: Sequence[CellResult]) -> str:
    """Return the name of the first cell, and the number of all: "3 cells, such as bm25"."""
    name = source.names.prose_name(cells[0])
    return f"the cell {name}" if len(cells) == 1 else f"{count(len(cells), 'cell')}, such as {name}"


def _gold(cells: Sequence[CellResult]) -> Iterator[TrustCheck]:
    notes = [cell.dataset for cell in cells[:1]]
    missing, without, copied = (
        _largest_count(notes, name)
        for name in ("n_gold_units_not_in_corpus", "n_samples_without_gold_in_corpus", "n_gold_units_with_copies")
    )
    without_gold = f"{count(without, 'sample')} without gold in the corpus"
    if missing:
        text = f"{count(missing, 'gold passage')} that no search can find" + (f"; {without_gold}." if without else ".")
        yield TrustCheck(WARNING, "Gold that is not in the corpus", text)
    elif without:
        text = f"{without_gold}: retrieval metrics leave them out."
        yield TrustCheck(NOTE, "Samples without gold", text)
    elif cells and any("n_gold_units_not_in_corpus" in note for note in notes):
        yield TrustCheck(FINE, "The gold is in the corpus", "Every gold passage is in a document.")
    if copied:
        text = (
            f"{count(copied, 'gold passage')} also occur in other documents: finding those counts as well, except for "
            "metrics that end in _strict."
        )
        yield TrustCheck(NOTE, "Near-duplicates of gold", text)


def _whole_gold(source: ReportSource) -> Iterator[TrustCheck]:
    """Warn if chunks are compared by how much of whole documents they bring into the prompt."""
    if source.main is None or not source.main.metric.metric.startswith(COVERAGE) or not source.ordered:
        return
    if varies_chunks(source.names.axes):
        rows = read_samples(source.sweep.folder_of(source.ordered[0]), ["gold"])
        yield from whole_gold([row["gold"] or [] for row in rows])


def whole_gold(gold: Sequence[Sequence[Mapping[str, Json]]]) -> Iterator[TrustCheck]:
    """Yield a warning if most samples with gold name whole documents. `gold` has the units of each sample."""
    if counts := count_whole_gold([unit["start"] for unit in units] for units in gold):
        text = f"{counts[0]:,} of {count(counts[1], 'sample')} with gold: {WHOLE_GOLD_ADVICE}."
        yield TrustCheck(WARNING, "The gold is whole documents", text)


def _largest_count(notes: Iterable[Mapping[str, Json]], name: str) -> int:
    return max((int(note.get(name, 0)) for note in notes), default=0)


def _draws(cells: Sequence[CellResult]) -> Iterator[TrustCheck]:
    repeated = any(cell.axes.get("repeat") not in (None, 0) for cell in cells)
    drawing = [cell for cell in cells if cell.axes.get("llm") not in (*_MODEL_FREE, None)]
    if drawing and not repeated:
        text = (
            "Intervals are over samples: nothing here says how much a second run of the same model would differ. "
            "Run with repeat=0,1,2 to measure it."
        )
        yield TrustCheck(NOTE, "One draw of every answer", text)
    if repeated:
        text = (
            "A row has the mean over the draws of a configuration, so that none is the best by a lucky draw. For the "
            "noise of single draws: python -m analysis repeats."
        )
        yield TrustCheck(NOTE, "Several draws of every answer", text)


def _code(cells: Sequence[CellResult]) -> Iterator[TrustCheck]:
    commits = {cell.git_commit for cell in cells if cell.git_commit}
    data = {str(cell.dataset.get("key")) for cell in cells}
    parsers = {(str(cell.dataset.get("name")), str(cell.axes.get("parser"))) for cell in cells}
    if len(commits) > 1:
        yield TrustCheck(NOTE, "Several versions of the code", f"The cells were computed at {len(commits)} commits.")
    if len(data) > 1 and len(data) == len(parsers) and len({name for name, _ in parsers}) == 1:
        text = (
            f"{len(data)} parsers read the same files and yield different texts, so `passage_coverage` is not "
            "comparable between parsers. The questions are the same."
        )
        yield TrustCheck(NOTE, "Several parsers", text)
    elif len(data) > 1:
        yield TrustCheck(
            WARNING, "Several data sets", f"The cells use {len(data)} data sets and are compared on shared samples."
        )
