"""Wording of facts about a sample, for the terminal and for pages."""

from analysis.samples.story import FoundUnit, GoldText, ShownHit, ShownSearch, StorySide
from components.forensics.failures import Failure
from components.forensics.outcomes import Outcome
from components.forensics.sources import Rule
from components.forensics.stages import EvidenceStage

MAX_CHARACTERS = 1200
"""Maximum number of characters to show of a question, reference or answer."""
N_UNITS = 12
"""Maximum number of units of gold to show."""

_EXPLAINED = {
    Failure.NONE: "nothing failed",
    Failure.NOT_IN_CORPUS: "not_in_corpus: the corpus lacks a document with evidence",
    Failure.NOT_RETRIEVED: "not_retrieved: at least one piece of the evidence is in no hit",
    Failure.CUT: "cut: a chunk border goes through the evidence",
    Failure.IN_PART: "in_part: the evidence is longer than a chunk, and the first top_k hold part of it",
    Failure.RANKED_LOW: "ranked_low: the evidence was found, below top_k",
    Failure.DROPPED: "dropped: the evidence was among the first top_k, and did not fit into the context",
    Failure.COMPRESSED: "compressed: the compressor removed evidence from the passages",
    Failure.DISTRACTED: "distracted: the evidence was in the prompt, but the answer follows other passages",
    Failure.INVENTED: "invented: the evidence was in the prompt, but the answer has claims that no passage supports",
    Failure.UNUSED: "unused: the evidence was in the prompt, but the answer takes nothing from it",
    Failure.WRONG_WITH_EVIDENCE: "wrong_with_evidence: the answer used the evidence in the prompt and is still wrong",
    Failure.PARTLY: "partly: the evidence was in the prompt, but the answer has only part of the reference",
    Failure.LOW: "low: the evidence was in the prompt, but the answer's score is in the lowest quarter",
    Failure.FALSE_ANSWER: "false_answer: the model answered a question that has no answer in the documents",
    Failure.UNEXPLAINED: "unexplained: not right, and no evidence is named or nothing was searched",
    Failure.REFUSED: "refused",
    Failure.TRUNCATED: "truncated before it was right",
    Failure.EMPTY: "empty",
    Failure.ERROR: "error: the request failed",
}

_BY_CLAIMS = {Failure.DISTRACTED: "distracted: the passages support every claim of the answer, but it is wrong"}
"""Wording of classes that a judge's verdicts on claims define."""


def shorten(text: str, longest: int = MAX_CHARACTERS) -> str:
    """Return the text, or its beginning with the number of omitted characters."""
    return text if len(text) <= longest else f"{text[:longest]} … ({len(text) - longest:,} more characters)"


def verdict_line(side: StorySide) -> str:
    """Describe the failure of the sample, the rank that would be needed, and the doubts."""
    verdict = side.verdict
    if (verdict.failure, verdict.outcome, verdict.stage) == (Failure.NONE, Outcome.NOT_JUDGED, EvidenceStage.NO_GOLD):
        return "unknown: the question has no gold, and no answer was judged"
    parts = [_EXPLAINED[verdict.failure]]
    if verdict.failure in (Failure.RANKED_LOW, Failure.CUT, Failure.IN_PART):
        rank = verdict.rank_needed
        parts[0] += f" (all of it would need rank {rank})" if rank else " (all hits together lack some of it)"
    if verdict.rule:
        parts[0] = _BY_CLAIMS.get(verdict.failure, parts[0]) if verdict.rule is Rule.CLAIMS else parts[0]
        parts.append(f"by its {verdict.rule}")
    if verdict.stage.value != verdict.failure.value:
        parts.append(f"stage {verdict.stage}")
    if verdict.outcome.value != verdict.failure.value:
        parts.append(f"outcome {verdict.outcome}")
    if verdict.doubts:
        parts.append(f"uncertain: {', '.join(verdict.doubts)}")
    return "; ".join(parts)


def score_text(side: StorySide, metric: str) -> str:
    """Return the metric with its score, e.g. "rouge_l 0.1234"."""
    return f"{metric} {side.score_state}" if side.score is None else f"{metric} {side.score:.4g}"


def answer_text(side: StorySide) -> str:
    """Return the answer, or the reason for its absence."""
    if side.error:
        return f"({side.state}: {shorten(side.error, 300)})"
    return shorten(side.answer) or f"({side.state})"


def first_answer_text(side: StorySide) -> str:
    """Return the answer before the reviser."""
    return shorten(side.first_answer or "") or "(empty)"


def check_text(side: StorySide) -> str:
    """Return the finding of the reviser's check."""
    return shorten(side.check) or "(not checked)"


def gold_head(unit: GoldText) -> str:
    """Return the document and the span of the gold in it."""
    span = "" if unit.start is None else f", characters {unit.start:,} to {unit.end:,}"
    title = f" ({shorten(unit.title, 80)})" if unit.title else ""
    grade = f", grade {unit.grade}" if unit.grade != 1 else ""
    alternative = f", alternative of set {unit.one_of}" if unit.one_of else ""
    return f"{shorten(unit.document_id, 100)}{title}{span}{grade}{alternative}"


def found_text(unit: GoldText, coverage: FoundUnit) -> str:
    """Describe the ranks at which a cell found a unit of gold."""
    if unit.n_characters is None:
        return "not in the corpus"
    if not coverage.shares:
        return "no hit contains any of it"
    shares = ", ".join(f"rank {rank} holds {share:.0%}" for rank, share in coverage.shares[:6])
    more = f" and {len(coverage.shares) - 6} more" if len(coverage.shares) > 6 else ""
    return f"{shares}{more}; {coverage.share_in_prompt:.0%} of it in the prompt"


def search_text(number: int, search: ShownSearch) -> str:
    """Describe a search of an iterative search, with the gold that it found. `number` counts from 1."""
    thought = f"{shorten(search.thought, 200)} → " if search.thought else ""
    gold = ", ".join(str(index + 1) for index in search.gold)
    return f"{number}. {thought}{shorten(search.query, 200)}: {f'found gold {gold}' if gold else 'no further gold'}"


def hit_head(hit: ShownHit) -> str:
    """Describe a passage of the prompt."""
    ranks = "".join(f", {_ranking(name)} {rank}" for name, rank in hit.ranks)
    gold = ", holds gold" if hit.holds_gold else ""
    return f"rank {hit.rank}{ranks}{gold}: {shorten(hit.document_id, 60)}"


def _ranking(name: str) -> str:
    label = name.replace("_", " ")
    return f"{label} rank" if label[-1].isdigit() else label
