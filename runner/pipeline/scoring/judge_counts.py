"""Counts unreadable replies of judges. They leave metrics with few samples, or with none."""

from collections.abc import Iterable

import pyarrow as pa

from components.json_value import Json
from components.records import ScoreState
from runner.console.unread_replies import reasons_of

_JUDGE, _STATE = "judge/", "score_state/"
_JUDGED = {ScoreState.VALUE, ScoreState.UNPARSABLE, ScoreState.FAILED}


def judge_counts(tables: Iterable[pa.Table]) -> dict[str, dict[str, Json]]:
    """Return `{judge: {n_judged, n_unparsable, reasons, commonest}}` of tables of scores with a judge.

    `n_judged` counts the samples to which a metric of the judge applies, including failed requests. `n_unparsable`
    counts the samples without a readable reply. `reasons` and `commonest` explain them (see `reasons_of`).
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
