"""Drafts and a corpus for the tests of gates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from components.records import Answer, Evidence, Kind, Request
from components.testset.records import Draft, EvidenceSet, Extract, Topic


@dataclass(frozen=True)
class SmallCorpus:
    """Documents by id; no search."""

    texts: Mapping[str, str]
    titles: Mapping[str, str] = field(default_factory=dict)
    topics: Sequence[Topic] = ()

    def nearest(self, queries: Sequence[str], n: int, *, staying: bool = False) -> list[list[Extract]]:
        raise AssertionError("a gate that asks no model needs no search")


def ask_nobody(requests: Sequence[Request]) -> list[Answer]:
    """Fail, for gates that must not ask."""
    raise AssertionError(f"{len(requests)} requests of a gate that asks no model")


def draft_on(
    corpus: SmallCorpus,
    question: str,
    reference: str,
    *,
    gold: Sequence[tuple[str, str]] = (),
    kind: Kind = Kind.QA,
    expression: str = "",
) -> Draft:
    """A draft over the whole of the documents; `gold` are (document id, its words)."""
    extracts = tuple(Extract(name, "", 0, len(text), text) for name, text in corpus.texts.items())
    units = []
    for name, words in gold:
        start = corpus.texts[name].index(words)
        units.append(Evidence(name, start, start + len(words)))
    return Draft(
        "draft",
        "extractive",
        "banking",
        kind,
        EvidenceSet("set", "extractive", "banking", extracts),
        question,
        (reference,),
        gold=tuple(units),
        expression=expression,
    )
