"""Token counts in unchecked replies."""

from dataclasses import dataclass

from components.openai_server.limiter import Tokens
from components.openai_server.reply_reading import read_count

Path = tuple[str, ...]
"""Nested names that lead to a number, outermost first."""


@dataclass(frozen=True)
class TokenCountPaths:
    """Fields of a server's replies that hold token counts. A reply without any of `marks` comes from a proxy, not from
    a model.

    `total` counts all tokens. Gemini and xAI count thoughts only there, and servers of embeddings may have no other
    count.
    """

    marks: frozenset[str]
    prompt: Path
    completion: Path
    cached: Path | None = None
    total: Path | None = None

    def thoughts(self, reply: object) -> int:
        """Return the tokens that only the total counts, or 0 unless all three counts are known."""
        n_prompt, n_completion, n_all = self._counts(reply)
        if n_prompt is None or n_completion is None or n_all is None:
            return 0
        return max(n_all - n_prompt - n_completion, 0)

    def _counts(self, reply: object) -> tuple[int | None, int | None, int | None]:
        n_all = read_count(reply, *self.total) if self.total else None
        return read_count(reply, *self.prompt), read_count(reply, *self.completion), n_all

    def count_used(self, reply: object, upper_bound: Tokens) -> Tokens:
        """Return the tokens that a request used.

        Missing counts are replaced by the counts of `upper_bound`. A reply that does not come from a model used no
        tokens.
        """
        if not isinstance(reply, dict) or not reply.keys() & self.marks:
            return Tokens()
        n_prompt, n_completion, n_all = self._counts(reply)
        if n_all is not None and n_completion is None:
            n_completion = min(n_all, upper_bound.n_completion) if n_prompt is None else max(n_all - n_prompt, 0)
        if n_all is not None and n_prompt is None and n_completion is not None:
            n_prompt = max(n_all - n_completion, 0)
        n_prompt = upper_bound.n_prompt if n_prompt is None else n_prompt
        n_completion = upper_bound.n_completion if n_completion is None else n_completion
        n_cached = (read_count(reply, *self.cached) if self.cached else None) or 0
        return Tokens(n_prompt, n_completion + self.thoughts(reply), min(n_cached, n_prompt))


AS_OPENAI = TokenCountPaths(
    frozenset({"choices", "data", "results", "usage"}),
    ("usage", "prompt_tokens"),
    ("usage", "completion_tokens"),
    ("usage", "prompt_tokens_details", "cached_tokens"),
    ("usage", "total_tokens"),
)
