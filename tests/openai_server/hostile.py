"""Replies that no server should send: valid ones with one hostile value, and bodies without a valid reply."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

Place = tuple[str | int, ...]

HALF = "\ud83d"
DEEP = 100_000

VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 7, 2**63, 10**30, 1.5, 1e300, float("nan"), float("inf"), -float("inf"),
    "", "text", HALF, f"half {HALF} a pair", "a\0b", "x" * 100_000, "<think>" + HALF,
    [], [None], ["text"], [[1.0]], {}, {"message": "text"}, {"index": 0},
)  # fmt: skip
"""Put in the place of each value of a sound reply. What is `json.dumps` of them, parsers of JSON accept."""

CHAT: dict[str, Any] = {
    "id": "c",
    "object": "chat.completion",
    "created": 0,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "so", "reasoning_content": "hm", "refusal": None},
            "finish_reason": "stop",
        }
    ],
    "usage": {
        "prompt_tokens": 7,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 1},
    },
}  # fmt: skip

OLLAMA: dict[str, Any] = {
    "model": "m",
    "message": {"role": "assistant", "content": "so", "thinking": "hm"},
    "done": True,
    "done_reason": "stop",
    "prompt_eval_count": 7,
    "eval_count": 3,
}

EMBEDDINGS: dict[str, Any] = {
    "object": "list",
    "data": [{"index": 0, "embedding": [1.0, 0.5]}, {"index": 1, "embedding": [0.25, 1.0]}],
    "usage": {"prompt_tokens": 7},
}

RERANK: dict[str, Any] = {
    "results": [{"index": 0, "relevance_score": 0.5}, {"index": 1, "relevance_score": 0.25}],
    "usage": {"total_tokens": 7},
}


def hostile_bodies(sound: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield names and bodies: a valid reply in which each place has each of VALUES, is missing, doubled or nested; then
    bodies that are no valid reply in any way.
    """
    for place in _places(sound):
        where = ".".join(map(str, place)) or "the reply"
        for value in VALUES:
            yield f"{where} is {str(value)[:20]!r}", json.dumps(_replace_at(sound, place, value)).encode()
        if place:
            yield f"no {where}", json.dumps(_replace_at(sound, place, ..., removed=True)).encode()
        marked = json.dumps(_replace_at(sound, place, "HERE")).encode()
        for name, deep in {
            "lists": b"[" * DEEP,
            "closed lists": b"[" * DEEP + b"]" * DEEP,
            "900": b"[" * 900 + b"]" * 900,
        }.items():
            yield f"{where} is deep: {name}", marked.replace(b'"HERE"', deep)
        yield f"{where} is a long number", marked.replace(b'"HERE"', b"9" * 5_000)
        yield f"{where} is half a pair in bytes", marked.replace(b"HERE", b"\xed\xa0\xbd")
        yield f"{where} is no UTF-8", marked.replace(b"HERE", b"\xff\xfe")
    body = json.dumps(sound).encode()
    yield "twice", body[:-1] + b", " + body[1:]
    yield "a byte order mark", b"\xef\xbb\xbf" + body
    yield "UTF-16", json.dumps(sound).encode("utf-16")
    yield "half", body[: len(body) // 2]
    yield "two", body + body
    yield "empty", b""
    yield "NUL", b"\0" * 100
    yield "HTML", b"<!doctype html><title>Sign in</title>"
    yield "events", b"data: " + body + b"\n\ndata: [DONE]\n\n"
    yield "objects without end", b'{"a":' * DEEP


def _places(value: Any, place: Place = ()) -> Iterator[Place]:
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in inner:
        yield from _places(item, (*place, name))


def _replace_at(sound: Any, place: Place, value: Any, *, removed: bool = False) -> Any:
    if not place:
        return value
    changed = deepcopy(sound)
    parent = changed
    for name in place[:-1]:
        parent = parent[name]
    if removed:
        del parent[place[-1]]
    else:
        parent[place[-1]] = value
    return changed
