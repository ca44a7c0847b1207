"""Shared parts of the tests of asking gates: a corpus, good drafts, and models that react to the shown words."""

import json
import re
from collections.abc import Callable
from dataclasses import replace

from components.llms.scripted import Scripted
from components.records import Evidence, Kind, Request, Turn
from components.testset.records import Draft, EvidenceSet, Extract, Quote, Topic
from components.testset.wording import Wording
from tests.testset.corpora import SmallCorpus

LLM = Scripted()
TOPICS = (Topic("trams", ("Transport", "Trams"), "lines, stops"), Topic("banks", ("Finance", "Banks")))
CORPUS = SmallCorpus(
    {
        "tram": "Line 2 of the Oakham tram is 17.6 km long. It has 19 stops.",
        "bank": "The Oakham bank lent the tram company 40 million in 2019.",
        "fair": "The Oakham fair had 19 stalls and a tram of wood.",
    },
    {"tram": "The Oakham tram", "bank": "A loan"},
    TOPICS,
)


def extract(document_id: str) -> Extract:
    text = CORPUS.texts[document_id]
    return Extract(document_id, CORPUS.titles[document_id], 0, len(text), text)


def draft(question: str, reference: str, *documents: str, kind: Kind = Kind.QA) -> Draft:
    """A draft over whole documents, all of them gold."""
    evidence = EvidenceSet("set", "extractive", "trams", tuple(map(extract, documents)))
    gold = tuple(Evidence(own, 0, len(CORPUS.texts[own])) for own in documents)
    own_id = f"{question} {reference}"
    quotes = (Quote((1,), "Line 2"),)
    return Draft(own_id, "extractive", "trams", kind, evidence, question, (reference,), quotes, gold)


LENGTH = draft("How long is line 2 of the Oakham tram?", "17.6 km", "tram")
BOTH = draft("How long is the tram, and what did the bank lend its company?", "17.6 km; 40 million", "tram", "bank")
LATER = replace(
    draft("And how many stops has it?", "19", "tram", kind=Kind.CONVERSATION),
    history=(Turn("How long is line 2 of the Oakham tram?", "17.6 km"),),
)

READING = Wording("Read.", "READ {question}\n---\n{documents}", "Again.")
COMPARING = Wording("Compare.", "COMPARE {question}|{references}|{answer}|", "Again.")


def user_prompt(request: Request) -> str:
    """Return the prompt of the request."""
    return next(message.content for message in request.messages if message.role == "user")


def reader_of(known: Callable[[str], str]) -> Callable[[Request], str]:
    """Answers what `known` makes of the documents shown; compares by whether the reference is in the answer."""

    def reply(request: Request) -> str:
        text = user_prompt(request)
        if text.startswith("COMPARE"):
            _, references, answer, _ = text.split("|")
            return json.dumps({"reason": "by its words", "match": references.removeprefix("[1] ") in answer})
        return json.dumps({"reason": "so it is written", "answer": known(text.partition("---")[2])})

    return reply


def numbers_in(documents: str) -> str:
    """The numbers with their units in documents, as a reader of BOTH would give them."""
    found = [re.search(pattern, documents) for pattern in (r"17\.6 km", r"40 million")]
    return "; ".join(match[0] for match in found if match)
