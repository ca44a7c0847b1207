"""How well judges could be understood: one whose replies cannot be read leaves metrics of few samples, or of none."""

from collections.abc import Iterable

import pyarrow as pa

from components.json_value import Json
from components.records import ScoreState
from runner.console.unread_replies import reasons_of

_JUDGE, _STATE = "judge/", "score_state/"
_JUDGED = {ScoreState.VALUE, ScoreState.UNPARSABLE, ScoreState.FAILED}


def judge_counts(tables: Iterable[pa.Table]) -> dict[str, dict[str, Json]]:
    """`{judge: {n_judged, n_unparsable, reasons, commonest}}` of tables of scores, those without a judge left out.

    `n_judged` are the samples to which some metric of the judge applies, those whose request failed among them;
    `n_unparsable` those of which no reply could be read; `reasons` and `commonest` say why (`reasons_of`).
    """
    counts: dict[str, dict[str, Json]] = {}
    for table in tables:
        states = [table[name].to_pylist() for name in table.column_names if name.startswith(_STATE)]
        for name in (name for name in table.column_names if name.startswith(_JUDGE)):
            of_samples = [set(own) for own in zip(*states, strict=True)]
            unparsable = [ScoreState.UNPARSABLE in own for own in of_samples]
            unread = (reason for reason, is_it in zip(table[name].to_pylist(), unparsable, strict=True) if is_it)
            reasons, commonest = reasons_of(unread)
            counts[name.removeprefix(_JUDGE)] = {
                "n_judged": sum(not own.isdisjoint(_JUDGED) for own in of_samples),
                "n_unparsable": sum(unparsable),
                "reasons": reasons,
                "commonest": commonest,
            }
    return counts
