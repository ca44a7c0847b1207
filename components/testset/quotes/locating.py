"""Conversion of a writer's citations to gold: whole sentences by number, verified by the quoted words."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from components.errors import ComponentError
from components.records import Evidence, Kind
from components.testset.quotes.finding import find_quote
from components.testset.quotes.numbered_sentences import ShownSentence, numbered_sentences
from components.testset.quotes.quote_forms import fold
from components.testset.quotes.sections import Sections
from components.testset.records import PASSED, Draft, Extract, GateVerdict, Quote, VerdictState

NOT_FOUND, AMBIGUOUS, UNUSED = "quote_not_found", "quote_ambiguous", "evidence_unused"
LEAVES = "evidence_removed"
CITED_ELSEWHERE = "cited_elsewhere"

_QUOTED = 80


@dataclass(frozen=True)
class _NotLocated:
    """A quote that was not found, or was found more than once."""

    reason: str
    detail: str


class _Citation(NamedTuple):
    """Sentences that contain the evidence. `remark` is set if the writer cited other sentences than those with its
    words.
    """

    sentences: frozenset[int]
    remark: str = ""


def locate(draft: Draft, texts: Mapping[str, str], max_added: int = 4) -> GateVerdict:
    """Return the draft with its gold, or the reason why it lacks gold.

    Gold units are sorted by document and start. They do not overlap or touch, and have no whitespace at their ends.
    `texts` are the documents by id. A draft with gold and without quotes, from a task that knows the spans, is
    unchanged.

    - A quote counts for its numbered sentences if its words occur in one of them.
    - Words that occur only in one other place count for the sentences of that place, and the draft is TAGGED
      `cited_elsewhere`: writers miscount more easily than they miscopy.
    - Words without a place, and unknown sentence numbers without words, are `quote_not_found`.
    - Gold that occurs in its document more than once is widened by at most `max_added` sentences, alternately after
      and before it, within the extract.
    - Words in several places, and gold that still occurs twice, are `quote_ambiguous`.
    - An extract without gold is `evidence_unused`, because a question over several texts needs each. Turns of
      conversations and summaries are exempt.
    - Gold in a document that the draft removes from the corpus is `evidence_removed`.

    Raises ComponentError if the text of an extract differs from its document.
    """
    if draft.gold and not draft.quotes:
        return PASSED
    extracts = draft.evidence.extracts
    _require_slices(extracts, texts)
    sentences = numbered_sentences(extracts)
    cited: set[int] = set()
    remarks = []
    for quote in draft.quotes:
        outcome = _locate_sentences(quote, sentences, extracts)
        if isinstance(outcome, _NotLocated):
            return GateVerdict(VerdictState.REJECTED, outcome.reason, outcome.detail)
        cited |= outcome.sentences
        remarks += [outcome.remark] if outcome.remark else []
    if not cited:
        return GateVerdict(VerdictState.REJECTED, NOT_FOUND, "the writer cited no evidence")
    gold = _gold(cited, Sections(extracts, sentences, texts), max_added)
    if isinstance(gold, _NotLocated):
        return GateVerdict(VerdictState.REJECTED, gold.reason, gold.detail)
    unused = {extract.document_id for extract in extracts} - {unit.document_id for unit in gold}
    if unused and draft.kind not in (Kind.CONVERSATION, Kind.SUMMARIZATION):
        return GateVerdict(VerdictState.REJECTED, UNUSED, f"no evidence cited from {', '.join(sorted(unused))}")
    if leaving := {unit.document_id for unit in gold} & set(draft.removed):
        return GateVerdict(VerdictState.REJECTED, LEAVES, f"leaves the corpus: {', '.join(sorted(leaving))}")
    located = replace(draft, gold=gold)
    if remarks:
        return GateVerdict(VerdictState.TAGGED, CITED_ELSEWHERE, "; ".join(remarks), located)
    return GateVerdict(VerdictState.PASSED, draft=located)


def _require_slices(extracts: Sequence[Extract], texts: Mapping[str, str]) -> None:
    for extract in extracts:
        if texts.get(extract.document_id, "")[extract.start : extract.end] != extract.text:
            raise ComponentError(
                f"extract [{extract.start}, {extract.end}) of document {extract.document_id!r}: got different text in "
                "the corpus, expected the extract's. Locate quotes in the corpus that they were written from."
            )


def _locate_sentences(
    quote: Quote, sentences: Sequence[ShownSentence], extracts: Sequence[Extract]
) -> _Citation | _NotLocated:
    numbers = frozenset(number - 1 for number in quote.sentences if 0 < number <= len(sentences))
    if not fold(quote.text).text:
        if numbers and len(numbers) == len(set(quote.sentences)):
            return _Citation(numbers)
        wrong = sorted({number for number in quote.sentences if not 0 < number <= len(sentences)})
        what = (
            f"sentences {', '.join(map(str, wrong))} of {len(sentences)}" if wrong else "neither a sentence nor words"
        )
        return _NotLocated(NOT_FOUND, f"cited: {what}")
    places = _find_places(quote.text, sentences, extracts)
    if not places:
        return _NotLocated(NOT_FOUND, _shorten(quote.text))
    if any(place <= numbers for place in places):
        return _Citation(numbers)
    touching = [place for place in places if place & numbers] or places
    if len(touching) > 1:
        return _NotLocated(AMBIGUOUS, f"in {len(touching)} places: {_shorten(quote.text)}")
    (place,) = touching
    if place & numbers or not quote.sentences:
        return _Citation(numbers | place)
    return _Citation(
        place, f"cited: {_name_sentences(quote.sentences)}, the words are in {_name_sentences(n + 1 for n in place)}"
    )


def _find_places(words: str, sentences: Sequence[ShownSentence], extracts: Sequence[Extract]) -> list[frozenset[int]]:
    """Return the sentences of each occurrence of the words."""
    matches = find_quote(words, [extract.text for extract in extracts])
    return [
        frozenset(
            number
            for number, sentence in enumerate(sentences)
            if sentence.extract == match.text
            and sentence.start < extracts[match.text].start + match.end
            and sentence.end > extracts[match.text].start + match.start
        )
        for match in matches
    ]


def _gold(cited: Collection[int], sections: Sections, max_added: int) -> tuple[Evidence, ...] | _NotLocated:
    """Return units of cited sentences, each with a text that occurs once in its document."""
    widened: set[int] = set()
    for run in sections.runs(cited):
        wider = sections.until_unique(run, max_added)
        if wider is None:
            document_id = sections.unit(run).document_id
            return _NotLocated(AMBIGUOUS, f"more than once in {document_id}: {_shorten(sections.text(run))}")
        widened.update(range(wider.first, wider.last + 1))
    units = map(sections.unit, sections.runs(widened))
    return tuple(sorted(units, key=lambda unit: (unit.document_id, unit.start or 0)))


def _name_sentences(numbers: Iterable[int]) -> str:
    return f"sentences {', '.join(map(str, sorted(set(numbers))))}"


def _shorten(text: str) -> str:
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"
