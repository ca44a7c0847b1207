"""Gate that recomputes the writer's expressions."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.protocols import Ask
from components.testset.expressions import ComputedValue, UnreadableExpression, compute
from components.testset.gates.findings import Finding, decide_verdict
from components.testset.protocols import SourceCorpus
from components.testset.quantities import Quantity, quantities
from components.testset.records import Draft, GateVerdict

_LESS = re.compile(
    r"降|减|跌|少|低|亏|落|缩|\b(?:decreas|declin|drop|fell|fall|less|lower|loss|reduc|down|shrank|shrink)",
    re.IGNORECASE,
)
_CLOSE = 1e-9


@dataclass(frozen=True)
class Arithmetic:
    """Checks the expressions of drafts.

    - `expression_unreadable`: the expression cannot be computed;
    - `arithmetic_wrong`: its value is not a number of the reference, at the reference's rounding;
    - `operand_not_in_gold`: the gold lacks a number of the expression.

    A percentage counts as written and as a share, 3.5亿 as 3.5 and as 350,000,000. If the reference speaks of a
    decrease, the sign may be missing. The gold may lack `constants` (the 1 of a growth rate, the 100 of a percentage),
    exponents and divisors of sums.
    """

    constants: tuple[float, ...]
    tags: bool

    version: ClassVar[int] = 1
    llm: ClassVar[None] = None
    n_requests: ClassVar[int] = 0

    def applies_to(self, draft: Draft) -> bool:
        """Return True for drafts with an expression."""
        return bool(draft.expression.strip())

    def verdicts(self, drafts: Sequence[Draft], corpus: SourceCorpus, ask: Ask) -> list[GateVerdict]:
        return [decide_verdict(self._findings(draft, corpus.texts), self.tags) for draft in drafts]

    def _findings(self, draft: Draft, texts: Mapping[str, str]) -> Iterator[Finding]:
        try:
            computed = compute(draft.expression)
        except UnreadableExpression as error:
            yield Finding("expression_unreadable", str(error))
            return
        for reference in draft.references:
            if not _states_value(computed.value, reference):
                yield Finding(
                    "arithmetic_wrong", f"{draft.expression} is {computed.value:g}; the reference: {reference}"
                )
        gold = [texts[unit.document_id][unit.start : unit.end] for unit in draft.gold if unit.document_id in texts]
        if missing := list(self._missing_operands(computed, quantities("\n".join(gold)))):
            yield Finding("operand_not_in_gold", f"{', '.join(missing)} of {draft.expression}")

    def _missing_operands(self, computed: ComputedValue, stated: Sequence[Quantity]) -> Iterator[str]:
        values = {abs(value) for quantity in stated for value, _ in quantity.readings()}
        free = {*map(float, self.constants), *computed.counts}
        for operand in computed.operands:
            readings = [abs(value) for value, _ in operand.readings()]
            is_known = any(math.isclose(reading, value, rel_tol=_CLOSE) for reading in readings for value in values)
            if not is_known and abs(operand.value) not in free:
                yield f"{abs(operand.value):g}"


def _states_value(value: float, reference: str) -> bool:
    """Return True if the value is one of the numbers of the reference, at that number's precision."""
    values = [value, abs(value)] if value < 0 and _LESS.search(reference) else [value]
    return any(
        abs(candidate - stated) <= step / 2 + _CLOSE * abs(stated)
        for candidate in values
        for quantity in quantities(reference)
        for stated, step in quantity.readings()
    )
