"""Token counts in unchecked replies."""

from dataclasses import dataclass

from components.openai_server.gate import Tokens
from components.openai_server.reading import count_in

Path = tuple[str, ...]
"""Nested names that lead to a number, outermost first."""


@dataclass(frozen=True)
class CountedAt:
    """The places of token counts in a server's replies. A reply without any of `marks` comes from a proxy, not from a
    model.
    """

    marks: frozenset[str]
    prompt: Path
    completion: Path
    cached: Path | None = None

    def used(self, reply: object, upper_bound: Tokens) -> Tokens:
        """Return the tokens that a request used.

        Missing counts are replaced by the counts of `upper_bound`. A reply that does not come from a model used no
        tokens.
        """
        if not isinstance(reply, dict) or not reply.keys() & self.marks:
            return Tokens()
        n_prompt, n_completion = count_in(reply, *self.prompt), count_in(reply, *self.completion)
        n_prompt = upper_bound.n_prompt if n_prompt is None else n_prompt
        n_cached = (count_in(reply, *self.cached) if self.cached else None) or 0
        return Tokens(
            n_prompt, upper_bound.n_completion if n_completion is None else n_completion, min(n_cached, n_prompt)
        )


AS_OPENAI = CountedAt(
    frozenset({"choices", "data", "results", "usage"}),
    ("usage", "prompt_tokens"),
    ("usage", "completion_tokens"),
    ("usage", "prompt_tokens_details", "cached_tokens"),
)
