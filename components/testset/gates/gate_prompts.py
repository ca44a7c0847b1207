"""Common parts of gates with requests to a model: the shown texts, and the verdict without a reply."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from components.asking.prompt_parts import question_in_context
from components.asking.readable_requests import UnreadableReply
from components.records import Sample, ScoreState
from components.testset.gates.findings import Finding, decide_verdict, shorten_detail
from components.testset.protocols import SourceCorpus
from components.testset.records import Draft, GateVerdict, VerdictState
from components.testset.wording import quote_text

T = TypeVar("T")

UNREADABLE = "verdict_unreadable"


def verdict_on(reply: T | UnreadableReply, tags: bool, findings: Callable[[T], Iterable[Finding]]) -> GateVerdict:
    """Return the verdict from the `findings` of a reply, or FAILED for a failed request.

    An unreadable reply is itself a finding, because a draft of unknown quality is not accepted.
    """
    if not isinstance(reply, UnreadableReply):
        return decide_verdict(findings(reply), tags)
    if reply.state is ScoreState.FAILED:
        return GateVerdict(VerdictState.FAILED, detail=shorten_detail(reply.reason))
    return decide_verdict([Finding(UNREADABLE, reply.reason)], tags)


def question_text(draft: Draft) -> str:
    """Return the question; for a later turn of a conversation, with the earlier ones."""
    return question_in_context(Sample(draft.id, "", draft.kind, draft.question, (), history=draft.history))


def gold_by_document(draft: Draft, corpus: SourceCorpus) -> dict[str, str]:
    """Return the text of the gold by document, in the order of the gold. Pieces of one document are joined.

    Documents outside the corpus are left out.
    """
    pieces: dict[str, list[str]] = {}
    for unit in (unit for unit in draft.gold if unit.document_id in corpus.texts):
        pieces.setdefault(unit.document_id, []).append(corpus.texts[unit.document_id][unit.start : unit.end])
    return {document_id: " … ".join(texts) for document_id, texts in pieces.items()}


def shown_gold(gold: Mapping[str, str], corpus: SourceCorpus) -> str:
    """Return the gold of each document as shown to a model, with its title."""
    return shown_texts([(corpus.titles[document_id], text) for document_id, text in gold.items()])


def shown_texts(texts: Sequence[tuple[str, str]]) -> str:
    """Return each (title, text) as a numbered document. Return "" if there are no texts."""
    return "\n".join(
        f"<document {n}>{quote_text(title)}\n{quote_text(text)}\n</document {n}>"
        for n, (title, text) in enumerate(texts, 1)
    )
