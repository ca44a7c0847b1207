"""The rehearsal as writer.

It asks for the number in a sentence by two clues, which are words of that sentence. The question can be answered only
with that sentence. A document with "flaw:<name>" gets a draft with that flaw; FLAWS lists the names.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from components.text.seeded import seeded_fraction

_DOCUMENT = re.compile(r"<document (\d+)>.*?\n(.*?)\n</document \1>", re.DOTALL)
_SENTENCE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_MARKER = re.compile(r"flaw:(\w+)")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_CLUE = re.compile(r"[\u4e00-\u9fff]{3,8}|[A-Za-z]{4,}")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_FORM = re.compile(r"^\{\".*$", re.MULTILINE)
_TOPIC = re.compile(r"^(?:Topic of the \w+: |\w+所属主题：)(?:.* > )?(?!any$|不限$)([^:\n]+)", re.MULTILINE)


@dataclass(frozen=True)
class RehearsedFact:
    """A number, the two clues that lead to it, and the sentence that contains all three."""

    sentence: int
    text: str
    clues: tuple[str, str]
    value: str

    @property
    def cited(self) -> dict[str, object]:
        return {"sentences": [self.sentence], "quote": self.text}


Reply = dict[str, Any]


def write(prompt: str, flawed_share: float) -> str | None:
    """Return a reply for the task whose form the prompt contains, None if there is no form."""
    form = _FORM.search(prompt)
    documents = [_SENTENCE.findall(text) for _, text in _DOCUMENT.findall(prompt)]
    if not (form and documents):
        return None
    chance = seeded_fraction(prompt)
    marker = _MARKER.search(prompt, form.end())
    flaw = marker[1] if marker else sorted(FLAWS)[int(chance * 1e6) % len(FLAWS)] if chance < flawed_share else ""
    if flaw == "unreadable":
        return "There is much to be said about these documents."
    facts = [_facts(sentences, chance) for sentences in documents]
    n_expected = 2 if '"turns"' in form[0] else 1
    if flaw == "declined" or any(len(document_facts) < n_expected for document_facts in facts):
        return _reply_text({"not_applicable": "no number with two clues in a document"})
    reply = next(written(facts) for key, written in _FORMS if key in form[0])
    reply = FLAWS[flaw](reply, [document_facts[0] for document_facts in facts]) if flaw in FLAWS else reply
    return _reply_text(reply if flaw in ("no_topic", "other_language") else _add_topic(reply, prompt))


def question_about(facts: list[RehearsedFact]) -> str:
    """Return the question, with two clues in quotation marks for each number."""
    if _CHINESE.search(facts[0].clues[0]):
        pairs = "，以及".join(f"“{fact.clues[0]}”和“{fact.clues[1]}”" for fact in facts)
        return f"就{pairs}而言，具体数字{'各' * (len(facts) > 1)}是多少？"
    pairs = ", and for ".join(f'"{fact.clues[0]}" and "{fact.clues[1]}"' for fact in facts)
    return f"What {'is the exact figure' if len(facts) == 1 else 'are the exact figures'} for {pairs}?"


def _question(facts: list[list[RehearsedFact]]) -> Reply:
    return _reply_about([document_facts[0] for document_facts in facts])


def _long_question(facts: list[list[RehearsedFact]]) -> Reply:
    return _reply_about(facts[0][:4])


def _reply_about(facts: list[RehearsedFact]) -> Reply:
    evidence = [fact.cited for fact in facts]
    answer = "; ".join(fact.value for fact in facts)
    return {"question": question_about(facts), "answer": answer, "evidence": evidence, "expression": ""}


def _conversation(facts: list[list[RehearsedFact]]) -> Reply:
    first, *later = facts[0][:3]
    turns = [_reply_about([first])]
    for fact in later:
        begins = FOLLOW_UPS[0 if _CHINESE.search(fact.clues[0]) else 1]
        turns.append(_reply_about([fact]) | {"question": f"{begins}{question_about([fact])}"})
    return {"turns": turns}


def _summary(facts: list[list[RehearsedFact]]) -> Reply:
    """Return a summary of all documents after the first."""
    event = _EVENTS[0 if _CHINESE.search(facts[0][0].clues[0]) else 1].format(*facts[0][0].clues)
    others = [document_facts[0] for document_facts in facts[1:]]
    summary = " ".join(f"{fact.clues[0]}, {fact.clues[1]}: {fact.value}." for fact in others)
    return {"event": event, "summary": summary, "evidence": [fact.cited for fact in others]}


def _correction(facts: list[list[RehearsedFact]]) -> Reply:
    """Return the number with adjacent characters up to a space, and its replacement."""
    fact = facts[0][0]
    start = fact.text.index(fact.value)
    before, after = fact.text[:start].split(" ")[-1][-6:], fact.text[start + len(fact.value) :].split(" ")[0][:6]
    other = f"{'7' if fact.value[0] != '7' else '4'}{fact.value[1:]}"
    return {"words": f"{before}{fact.value}{after}", "replacement": f"{before}{other}{after}"}


def _add_topic(reply: Reply, prompt: str) -> Reply:
    """Add the requested topic to the question, or to the first of several."""
    if "turns" in reply:
        first, *later = reply["turns"]
        return {"turns": [_add_topic(first, prompt), *later]}
    topic = _TOPIC.search(prompt)
    if "question" not in reply or topic is None:
        return reply
    about = "在{}方面，" if _CHINESE.search(reply["question"]) else "As to {}: "
    return {**reply, "question": f"{about.format(topic[1])}{reply['question']}"}


FOLLOW_UPS = ("那么", "And then: ")
"""Openings of questions that follow others."""
_EVENTS = ("关于“{}”与“{}”的事件", 'The event of "{}" and "{}"')
_FORMS: list[tuple[str, Callable[[list[list[RehearsedFact]]], Reply]]] = [
    ('"turns"', _conversation),
    ('"summary"', _summary),
    ('"replacement"', _correction),
    ('"points"', _long_question),
    ('"question"', _question),
]
"""Writers by a field in the form of the task; the first match is used."""


def _facts(sentences: list[tuple[str, str]], chance: float) -> list[RehearsedFact]:
    """Return the facts of a document, starting from a random one."""
    facts = [fact for number, text in sentences if (fact := _fact_in_sentence(int(number), text))]
    first = int(chance * 1000) % len(facts) if facts else 0
    return facts[first:] + facts[:first]


def _fact_in_sentence(number: int, text: str) -> RehearsedFact | None:
    """Return the first number, with the first and the last clue."""
    value = NUMBER.search(text)
    clues = list(dict.fromkeys(_CLUE.findall(text)))
    if value is None or len(clues) < 2:
        return None
    return RehearsedFact(number, text, (clues[0], clues[-1]), value[0])


def _reply_text(reply: Reply) -> str:
    return json.dumps({"reasoning": "The number is stated once.", **reply}, ensure_ascii=False)


def _flaw(**changes: Callable[[Reply, list[RehearsedFact]], object]) -> Callable[[Reply, list[RehearsedFact]], Reply]:
    def add_flaw(reply: Reply, facts: list[RehearsedFact]) -> Reply:
        if "turns" in reply:
            return {"turns": [add_flaw(turn, facts) for turn in reply["turns"]]}
        return {**reply, **{key: change(reply, facts) for key, change in changes.items() if key in reply}}

    return add_flaw


def _citation_with_another_number(reply: Reply, facts: list[RehearsedFact]) -> list[Reply]:
    return [{"quote": NUMBER.sub("99887766", fact.text, count=1)} for fact in facts]


def _other_citation(reply: Reply, facts: list[RehearsedFact]) -> list[Reply]:
    """Return a sentence that is not needed."""
    used = {fact.sentence for fact in facts}
    return [{"sentences": [next(number for number in (1, 2) if number not in used)]}]


FLAWS: dict[str, Callable[[Reply, list[RehearsedFact]], Reply]] = {
    "declined": lambda reply, facts: reply,
    "unreadable": lambda reply, facts: reply,
    "not_a_question": _flaw(question=lambda reply, facts: facts[0].clues[0]),
    "points_at_document": _flaw(
        question=lambda reply, facts: (
            ("根据上述文档，" if _CHINESE.search(reply["question"]) else "According to the document above: ")
            + reply["question"]
        )
    ),
    "answer_in_question": _flaw(question=lambda reply, facts: f"{reply['question'][:-1]} ({facts[0].text})?"),
    "no_answer": _flaw(
        answer=lambda reply, facts: "文中没有提及。" if _CHINESE.search(reply["question"]) else "It is not mentioned."
    ),
    "other_language": _flaw(
        question=lambda reply, facts: (
            "What was said about it in that year by the people there?"
            if _CHINESE.search(reply["question"])
            else "当地的人们在那一年对此事说了些什么？"
        )
    ),
    "personal_data": _flaw(question=lambda reply, facts: f"{reply['question'][:-1]} (jane.doe@example.com)?"),
    "invented_quote": _flaw(
        evidence=lambda reply, facts: [{"quote": "Nobody has ever written these words, 无人写过这些话。"}]
    ),
    "changed_number": _flaw(evidence=_citation_with_another_number),
    "wrong_arithmetic": _flaw(expression=lambda reply, facts: f"{facts[0].value.replace(',', '')} * 7 + 1"),
    "no_topic": lambda reply, facts: reply,
    "nothing_named": _flaw(
        question=lambda reply, facts: (
            "具体数字一共是多少？" if _CHINESE.search(reply["question"]) else "What was the exact figure in the end?"
        )
    ),
    "no_follow_up": _flaw(
        question=lambda reply, facts: next(
            (reply["question"].removeprefix(begin) for begin in FOLLOW_UPS if reply["question"].startswith(begin)),
            reply["question"],
        )
    ),
    "other_citation": _flaw(evidence=_other_citation),
    "other_number": _flaw(answer=lambda reply, facts: f"9{facts[0].value}"),
    "unsupported": _flaw(summary=lambda reply, facts: f"{reply['summary']} 99887766."),
    "one_fact_asked": _flaw(
        question=lambda reply, facts: question_about(facts[:1]), answer=lambda reply, facts: facts[0].value
    ),
    "first_document_alone": _flaw(evidence=lambda reply, facts: reply["evidence"][:1]),
}
"""Changes that introduce each flaw into a good reply. Some have no effect on some tasks."""
