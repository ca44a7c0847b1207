"""Parsing of replies with facts. A reply whose entries are all unusable is unreadable; it does not mean "no facts"."""

import re
import unicodedata
from math import isfinite

from components.asking.model_reply import copies_placeholder, json_values, strip_thoughts
from components.fact_graph.fact_tables import phrase_form
from components.json_value import Json
from components.records import Fact, FactsOfChunk
from components.text.normalize import whole_characters

KEY = "facts"
_CLOSED = re.compile(r"\[\s*\]")
_NAMED = re.compile(rf"{KEY}[\"'”’]?\s*:")
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]]', re.DOTALL)
"""Strings, which may contain brackets and may be cut off, and brackets."""
_PARTS = ("subject", "relation", "object")
_MAX_CHARACTERS = 300
"""Characters of a part of a fact, beyond which it is neither a name nor a relation."""


def read_facts(reply: str, instruction: str, max_facts: int) -> FactsOfChunk | None:
    """Return the facts of a reply in their order, each once; None for an unreadable reply.

    The reply is a JSON object with a list `facts`, or the list alone. Each entry is a list of three texts, or an object
    with `subject`, `relation` and `object`. Numbers count as texts. Left out are entries of another shape, with a blank
    part or one of more than 300 characters, with a subject or object without a letter or digit, copies of the form in
    `instruction`, facts beyond `max_facts`, and the last entry of a list that is cut off. An empty list is readable
    only if it is closed.
    """
    text = unicodedata.normalize("NFKC", strip_thoughts(reply))
    is_cut = _is_cut(text)
    for value in json_values(reply):
        entries = value.get(KEY) if isinstance(value, dict) else value
        if not isinstance(entries, list) or (entries is value and not (entries and all(map(_is_entry, entries)))):
            continue
        if not entries:
            return FactsOfChunk() if _CLOSED.search(text) else None
        facts = [_fact(entry, instruction) for entry in (entries[:-1] if is_cut else entries)]
        distinct = list(dict.fromkeys(fact for fact in facts if fact is not None))
        facts_within_limit = tuple(distinct[:max_facts])
        n_left_out = is_cut + facts.count(None) + len(distinct) - len(facts_within_limit)
        return FactsOfChunk(facts_within_limit, n_left_out) if facts_within_limit else None
    return None


def _is_cut(reply: str) -> bool:
    """Return True if the list of facts does not end. Brackets within strings are ignored."""
    named = [match.end() for match in _NAMED.finditer(reply)]
    depth = 0
    for bracket in _BRACKETS.findall(reply, named[-1] if named else 0):
        depth += {"[": 1, "]": -1}.get(bracket, 0)
        if depth == 0 and bracket == "]":
            return False
    return depth > 0


def _is_entry(entry: Json) -> bool:
    """Return True for what may be an entry of a list without a name."""
    return isinstance(entry, list) or (isinstance(entry, dict) and set(_PARTS) <= set(entry))


def _fact(entry: Json, instruction: str) -> Fact | None:
    if isinstance(entry, dict):
        entry = [entry.get(part) for part in _PARTS]
    if not isinstance(entry, list) or len(entry) != len(_PARTS):
        return None
    parts = [_text(part) for part in entry]
    if not all(parts) or all(copies_placeholder(part, instruction) for part in parts):
        return None
    return Fact(*parts) if phrase_form(parts[0]) and phrase_form(parts[2]) else None


def _text(part: Json) -> str:
    """Return a part on one line; "" for an unusable one."""
    if isinstance(part, bool) or not isinstance(part, str | int | float):
        return ""
    if isinstance(part, float) and not isfinite(part):
        return ""
    text = " ".join(whole_characters(str(part)).split())
    return text if len(text) <= _MAX_CHARACTERS else ""
