"""Makes a data set of the questions in traces: folded, masked and counted."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from components.errors import DataError
from components.json_value import Json
from components.records import Kind, Turn
from components.testset.records import Draft, EvidenceSet
from components.testset.repeated_questions import NearDuplicateFinder
from runner.console.written_files import write_lines, write_text
from runner.testset.production.private_data import PrivateData
from runner.testset.production.traced_questions import SkippedTrace, TracedQuestion, name_thumbs

QUESTIONS, COUNTS = "questions.jsonl", "import.json"
NO_FEEDBACK = "none"
_NO_EVIDENCE = EvidenceSet("", "", "", ())


@dataclass(frozen=True)
class ImportCounts:
    """Numbers of traces by outcome. `skipped` counts by reason, `masked` by rule."""

    n_traces: int
    n_questions: int
    n_folded: int
    skipped: dict[str, int]
    masked: dict[str, int]
    feedback: dict[str, int]

    def lines(self) -> Iterator[str]:
        """Yield the counts in sentences."""
        n_skipped = sum(self.skipped.values())
        yield (
            f"{self.n_traces:,} traces read: {self.n_questions:,} questions kept, {self.n_folded:,} merged into them, "
            f"{n_skipped:,} skipped"
        )
        for name, counts in (("skipped", self.skipped), ("masked", self.masked), ("feedback", self.feedback)):
            if counts:
                yield f"{name}: {', '.join(f'{label} {n:,}' for label, n in counts.items())}"


def import_questions(
    traces: Iterable[TracedQuestion | SkippedTrace], out: Path, private: PrivateData, threshold: float
) -> ImportCounts:
    """Write the questions of traces to a new folder, and return the counts, which are also written there.

    Earlier questions of a session are the history of a question whose trace has none. Near duplicates become one
    question. Raises DataError for a folder that is not empty, and if no trace has a question.
    """
    _require_new(out)
    by_id, skipped = dict[str, TracedQuestion](), Counter[str]()
    for trace in traces:
        if isinstance(trace, SkippedTrace):
            skipped[trace.reason] += 1
        elif trace.id in by_id:  # pages of a server overlap when traces arrive meanwhile
            skipped["duplicate id"] += 1
        else:
            by_id[trace.id] = _mask(trace, private)
    questions = name_thumbs(list(by_id.values()))
    if not questions:
        reasons = ", ".join(f"{reason} {n:,}" for reason, n in skipped.items())
        raise DataError(f"no trace has a question ({reasons or 'there are no traces'}). Check the source.")
    ordered = sorted(_add_sessions(questions), key=lambda question: (question.time, question.id))
    groups = _fold(ordered, threshold)
    records = [_record(group) for group in groups]
    feedback = Counter(str(record["subset"]).removeprefix("feedback ") for record in records)
    counts = ImportCounts(
        len(questions) + skipped.total(),
        len(records),
        len(questions) - len(records),
        dict(skipped.most_common()),
        {name: n for name, n in private.counts.items() if n},
        dict(feedback.most_common()),
    )
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"--out: {out} cannot be created ({error.strerror}). Choose another path.") from error
    write_lines(out / QUESTIONS, (json.dumps(record, ensure_ascii=False) for record in records))
    write_text(out / COUNTS, json.dumps(vars(counts), ensure_ascii=False, indent=2) + "\n")
    return counts


def without_passages(traces: Iterable[TracedQuestion | SkippedTrace]) -> Iterator[TracedQuestion | SkippedTrace]:
    """Yield the traces without the passages that the application found."""
    for trace in traces:
        yield trace if isinstance(trace, SkippedTrace) else replace(trace, passages=())


def _require_new(out: Path) -> None:
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise DataError(f"--out: {out} exists and is not an empty folder. Choose another path.")


def _mask(question: TracedQuestion, private: PrivateData) -> TracedQuestion:
    mask = private.mask
    return replace(
        question,
        question=mask(question.question),
        answer=mask(question.answer),
        passages=tuple(map(mask, question.passages)),
        history=tuple(Turn(mask(turn.question), mask(turn.answer)) for turn in question.history),
    )


def _add_sessions(questions: Sequence[TracedQuestion]) -> Iterator[TracedQuestion]:
    """Yield the questions, with the earlier ones of their session as the history of those that have none."""
    sessions: dict[str, list[TracedQuestion]] = {}
    for question in sorted(questions, key=lambda question: (question.time, question.id)):
        earlier = sessions.setdefault(question.session, []) if question.session else []
        turns = tuple(Turn(each.question, each.answer) for each in earlier)
        yield question if question.history or not turns else replace(question, history=turns)
        earlier.append(question)


def _fold(questions: Sequence[TracedQuestion], threshold: float) -> list[list[TracedQuestion]]:
    """Return groups of near duplicates, in the order of their first questions."""
    # Two users get different answers to one question, so answers are not compared.
    drafts = [
        Draft(str(i), "", "", Kind.QA, _NO_EVIDENCE, question.question, ("",), history=question.history)
        for i, question in enumerate(questions)
    ]
    repeats = NearDuplicateFinder(threshold).repeats(drafts, [])
    groups: dict[str, list[TracedQuestion]] = {}
    for i, question in enumerate(questions):
        groups.setdefault(repeats.get(str(i), str(i)), []).append(question)
    return list(groups.values())


def _record(group: Sequence[TracedQuestion]) -> dict[str, Json]:
    """Return a question as a line of the data set. Of near duplicates, the first one gives the texts."""
    first = group[0]
    labels = Counter(question.feedback for question in group if question.feedback)
    label = NO_FEEDBACK if not labels else next(iter(labels)) if len(labels) == 1 else "mixed"
    record: dict[str, Json] = {"id": first.id, "question": first.question, "subset": f"feedback {label}"}
    if first.history:
        record["history"] = [{"question": turn.question, "answer": turn.answer} for turn in first.history]
    if first.passages:
        record["passages"] = list(first.passages)
    return {
        **record,
        "production": {"answer": first.answer, "n_asked": len(group), "feedback": dict(labels.most_common())},
    }
