"""A language model that reorders several hits per request."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from components.asking.model_reply import json_values, parse_whole_number, strip_thoughts
from components.asking.prompt_parts import chat_messages, number_lines
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import HitOrder, ScoreState
from components.rerankers.model_requests import request_about
from components.text.templates import fill, missing_placeholders

_CHAIN = re.compile(r"(?<!\d)\[?\d++\]?(?:\s*[>＞]\s*\[?\d++\]?)+")
"""A chain such as [3] > [1] > [2], the reply of models that were trained for listwise ranking."""

_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"ranking": {"type": "array", "items": {"type": "integer"}}},
    "required": ["ranking"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Listwise:
    """Listwise reranking by a language model in sliding windows.

    The model orders the last `window` hits, then the window that starts `step` places higher and includes the best of
    the previous one, and so on to the top. This repeats `passes` times. The best of all hits thereby reach the top,
    although the model sees only one window at a time. Source: Sun et al. 2023, "Is ChatGPT Good at Search?" (RankGPT),
    section 3.2. A window of 2 with a step of 1 is the sliding window of pairwise prompting: Qin et al. 2024, "Large
    Language Models are Effective Text Rankers with Pairwise Ranking Prompting", section 3.4, in one of the two orders.

    `instruction` has the placeholders {question}, {passages} (numbered from 1) and {n}, their number. The reply is a
    JSON object with a list `ranking`, or a chain such as [2] > [1]. Hits that it leaves out follow the others in their
    previous order. A reply that names a hit twice, or an unknown hit, is unreadable: the request is repeated with
    `reminder`, up to `max_attempts` attempts in total. After that, the order in this window stays. After a failed
    request, the query keeps its current order.
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

    version: ClassVar[int] = 2

    def check(self) -> list[str]:
        """Return error messages for numbers out of range, and for placeholders missing in the instruction."""
        problems = too_small(self, depth=2, window=2, step=1, passes=1, max_attempts=1)
        if self.step >= self.window >= 2:
            problems.append(
                f"step: got {self.step}, expected less than window={self.window}, so that windows overlap and hits can "
                "move from one to the next"
            )
        return problems + missing_placeholders("instruction", self.instruction, ("{question}", "{passages}"))

    def n_requests(self, n_hits: int) -> int:
        """Return one request per window and pass."""
        return self.passes * len(self._windows(n_hits))

    def n_rounds(self, n_hits: int) -> int:
        """Return the number of requests, because each window needs the order of the previous one."""
        return self.n_requests(n_hits)

    def rank(self, queries: Sequence[str], hits: Sequence[Sequence[str]], ask: Ask) -> list[HitOrder]:
        """Return the order per query. Each round asks about one window of every query."""
        orders = [list(range(len(texts))) for texts in hits]
        unread, failed = [""] * len(hits), [""] * len(hits)
        windows = [self._windows(len(texts)) * self.passes for texts in hits]
        for turn in range(max(map(len, windows), default=0)):
            open_queries = [query for query, spans in enumerate(windows) if turn < len(spans) and not failed[query]]
            shown_hits = [orders[query][windows[query][turn]] for query in open_queries]
            inquiries = [
                self._inquiry(queries[query], [hits[query][hit] for hit in window], f"query {query}")
                for query, window in zip(open_queries, shown_hits, strict=True)
            ]
            replies = ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)
            for query, window, reply in zip(open_queries, shown_hits, replies, strict=True):
                if not isinstance(reply, UnreadableReply):
                    orders[query][windows[query][turn]] = [window[position] for position in reply]
                elif reply.state is ScoreState.FAILED:
                    failed[query] = reply.reason
                else:
                    unread[query] = reply.reason
        return [HitOrder(tuple(order), *why) for order, *why in zip(orders, unread, failed, strict=True)]

    def _windows(self, n_hits: int) -> list[slice]:
        """Return the windows from the last hits to the first; none if there are fewer than two hits."""
        windows: list[slice] = []
        last = n_hits if n_hits > 1 else 0
        while last and not (windows and windows[-1].start == 0):
            windows.append(slice(max(last - self.window, 0), last))
            last -= self.step
        return windows

    def _inquiry(self, question: str, texts: Sequence[str], request_id: str) -> Inquiry[list[int]]:
        values = {"{question}": question, "{passages}": number_lines(texts), "{n}": str(len(texts))}
        messages = chat_messages(self.system, fill(self.instruction, values))
        request = request_about(texts, question, messages, _SCHEMA, request_id)
        return Inquiry(request, lambda text: read_ranking(text, len(texts)))


def read_ranking(text: str, n_hits: int) -> list[int] | None:
    """Return the positions of all hits from 0, best first, for a reply that numbers them from 1.

    Hits that the reply leaves out come last. Returns None for a reply without a ranking, or with a ranking that names a
    hit twice or an unknown hit.
    """
    numbers = _numbers(text, n_hits)
    if not numbers or len(set(numbers)) < len(numbers) or not all(1 <= number <= n_hits for number in numbers):
        return None
    named = [number - 1 for number in numbers]
    return named + [position for position in range(n_hits) if position not in named]


def _numbers(text: str, n_hits: int) -> list[int]:
    """Return the numbers of the likeliest JSON object with a ranking, else of the last chain, else of a bare list.

    A bare list must have as many numbers as there are hits, because the meaning of a shorter one is unclear.
    """
    values = json_values(text)
    named = [value["ranking"] for value in values if isinstance(value, dict) and "ranking" in value]
    chains = [re.findall(r"\d+", chain) for chain in _CHAIN.findall(strip_thoughts(text))]
    bare = [value for value in values if isinstance(value, list) and len(value) == n_hits]
    ranking: Any = next(iter([*named, *chains[-1:], *bare]), [])
    if not isinstance(ranking, list):
        return []
    return [number if (number := parse_whole_number(item)) is not None else 0 for item in ranking]
