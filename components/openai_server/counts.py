"""Numbers of tokens in replies that nobody has checked."""

from dataclasses import dataclass
from typing import Any

from components.openai_server.gate import Tokens
from components.openai_server.reading import count_in

Path = tuple[str, ...]
"""Names that lead to a number, each within the one before."""


@dataclass(frozen=True)
class CountedAt:
    """Where a server's replies count tokens. A reply with none of the `marks` is none of a model's, but a proxy's."""

    marks: frozenset[str]
    prompt: Path
    completion: Path
    cached: Path | None = None

    def used(self, reply: Any, most: Tokens) -> Tokens:
        """What a request took. What the server does not count is taken to be the most; a reply that is none of a
        model's has used nothing.
        """
        if not isinstance(reply, dict) or not reply.keys() & self.marks:
            return Tokens()
        n_prompt, n_completion = count_in(reply, *self.prompt), count_in(reply, *self.completion)
        n_prompt = most.n_prompt if n_prompt is None else n_prompt
        n_cached = (count_in(reply, *self.cached) if self.cached else None) or 0
        return Tokens(n_prompt, most.n_completion if n_completion is None else n_completion, min(n_cached, n_prompt))


AS_OPENAI = CountedAt(
    frozenset({"choices", "data", "results", "usage"}),
    ("usage", "prompt_tokens"),
    ("usage", "completion_tokens"),
    ("usage", "prompt_tokens_details", "cached_tokens"),
)
