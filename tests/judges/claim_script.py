"""A scripted judge of claims for prompts in few words, in which each sentence of a text is a claim."""

import json
from collections.abc import Callable

from components.records import Request

CLAIM_PROMPT = "split|{question}|{text}"
VERDICT_PROMPT = "check|{claims}|{passages}"


def claims_reply(*claims: str) -> str:
    return json.dumps({"claims": claims}, ensure_ascii=False)


def verdicts_reply(*verdicts: str) -> str:
    entries = [{"number": n, "reason": "so", "verdict": verdict} for n, verdict in enumerate(verdicts, start=1)]
    return json.dumps({"verdicts": entries})


def script(
    claims: Callable[[str], list[str]] = lambda text: [own for own in text.split("。") if own],
    verdict: Callable[[str, str], str] = lambda claim, passages: "supported" if claim in passages else "neither",
) -> Callable[[Request], str]:
    """Replies to both prompts: a claim per sentence, supported if the passages contain it."""

    def reply(request: Request) -> str:
        kind, *rest = request.messages[-1].content.split("|") if len(request.messages) < 3 else _first(request)
        if kind == "split":
            return claims_reply(*claims(rest[-1]))
        shown = [line.partition("] ")[2] for line in rest[0].split("\n")]
        return verdicts_reply(*(verdict(claim, rest[1]) for claim in shown))

    return reply


def _first(request: Request) -> list[str]:
    """Return the first prompt of a conversation in which the request was repeated."""
    return next(m.content for m in request.messages if m.content.startswith(("split|", "check|"))).split("|")
