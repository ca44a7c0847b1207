"""A language model that is shown several hits at once, and puts them in order."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from components.asking.reply import json_values, whole_number, without_thoughts
from components.asking.templates import chat, numbered
from components.asking.until_readable import Inquiry, Unread, ask_until_readable
from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import HitOrder, ScoreState
from components.rerankers.asked import request_about
from components.text.templates import fill, missing_places

_CHAIN = re.compile(r"(?<!\d)\[?\d++\]?(?:\s*[>＞]\s*\[?\d++\]?)+")
"""[3] > [1] > [2], as models reply that were trained to."""

_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"ranking": {"type": "array", "items": {"type": "integer"}}},
    "required": ["ranking"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Listwise:
    """Shows `window` hits to a model, which puts the best first, then those `step` places further up together with the
    best of the window before, and so on to the top; `passes` times. So the best of all hits climb to the top, whatever
    the model can read at once. Source: Sun et al. 2023, "Is ChatGPT Good at Search?" (RankGPT), section 3.2. With two
    hits at a time and a step of one this is the sliding window of pairwise prompting: Qin et al. 2024, "Large Language
    Models are Effective Text Rankers with Pairwise Ranking Prompting", section 3.4, in one order of the two.

    `instruction` has places for {question}, {passages} (numbered from 1) and {n}, their number. The reply is a JSON
    object with a list `ranking`, or a chain such as [2] > [1]; hits that it leaves out stay behind the others in their
    old order. One that names a hit twice, or one that is not there, cannot be read: the model is asked again, with
    `reminder`, up to `max_attempts` times in all; then the order of this window stays. After a request that failed the
    query is left as it is by then.
    """

    llm: LLM
    system: str
    instruction: str
    reminder: str
    depth: int = 20
    window: int = 20
    step: int = 10
    passes: int = 1
    max_attempts: int = 3

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Numbers out of range, and places that are missing."""
        mistakes = too_small(self, depth=2, window=2, step=1, passes=1, max_attempts=1)
        if self.step >= self.window >= 2:
            mistakes.append(
                f"step: got {self.step}, expected less than window={self.window}, so that hits climb from one to "
                "the next"
            )
        return mistakes + missing_places("instruction", self.instruction, ("{question}", "{passages}"))

    def n_requests(self, n_hits: int) -> int:
        """One per window and pass."""
        return self.passes * len(self._windows(n_hits))

    def n_rounds(self, n_hits: int) -> int:
        """Each window waits for the one before."""
        return self.n_requests(n_hits)

    def rank(self, queries: Sequence[str], hits: Sequence[Sequence[str]], ask: Ask) -> list[HitOrder]:
        """All queries side by side, window by window."""
        orders = [list(range(len(own))) for own in hits]
        unread, failed = [""] * len(hits), [""] * len(hits)
        windows = [self._windows(len(own)) * self.passes for own in hits]
        for turn in range(max(map(len, windows), default=0)):
            asked = [query for query, own in enumerate(windows) if turn < len(own) and not failed[query]]
            shown = [orders[query][windows[query][turn]] for query in asked]
            inquiries = [
                self._inquiry(queries[query], [hits[query][hit] for hit in own], f"query {query}")
                for query, own in zip(asked, shown, strict=True)
            ]
            replies = ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)
            for query, own, reply in zip(asked, shown, replies, strict=True):
                if not isinstance(reply, Unread):
                    orders[query][windows[query][turn]] = [own[place] for place in reply]
                elif reply.state is ScoreState.FAILED:
                    failed[query] = reply.reason
                else:
                    unread[query] = reply.reason
        return [HitOrder(tuple(order), *why) for order, *why in zip(orders, unread, failed, strict=True)]

    def _windows(self, n_hits: int) -> list[slice]:
        """From the last hits to the first; none for hits that are in order already."""
        windows: list[slice] = []
        last = n_hits if n_hits > 1 else 0
        while last and not (windows and windows[-1].start == 0):
            windows.append(slice(max(last - self.window, 0), last))
            last -= self.step
        return windows

    def _inquiry(self, question: str, texts: Sequence[str], request_id: str) -> Inquiry[list[int]]:
        values = {"{question}": question, "{passages}": numbered(texts), "{n}": str(len(texts))}
        messages = chat(self.system, fill(self.instruction, values))
        request = request_about(texts, question, messages, _SCHEMA, request_id)
        return Inquiry(request, lambda text: read_ranking(text, len(texts)))


def read_ranking(text: str, n_hits: int) -> list[int] | None:
    """The places of all hits, best first, counted from 0, as a reply counts them from 1; those that it leaves out come
    last. None for a reply without a ranking, or with one that names a hit twice or one that is not there.
    """
    numbers = _numbers(text, n_hits)
    if not numbers or len(set(numbers)) < len(numbers) or not all(1 <= number <= n_hits for number in numbers):
        return None
    named = [number - 1 for number in numbers]
    return named + [place for place in range(n_hits) if place not in named]


def _numbers(text: str, n_hits: int) -> list[int]:
    """Of the likeliest JSON object with a ranking, or else of the last chain, or else of a bare list of as many numbers
    as there are hits: of a shorter one nobody knows what it is.
    """
    values = json_values(text)
    named = [value["ranking"] for value in values if isinstance(value, dict) and "ranking" in value]
    chains = [re.findall(r"\d+", chain) for chain in _CHAIN.findall(without_thoughts(text))]
    bare = [value for value in values if isinstance(value, list) and len(value) == n_hits]
    ranking: Any = next(iter([*named, *chains[-1:], *bare]), [])
    if not isinstance(ranking, list):
        return []
    return [number if (number := whole_number(item)) is not None else 0 for item in ranking]
