"""The two steps of all metrics of claims: a text is split into claims, and claims are checked against other texts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import ClassVar, Protocol

from components.asking.model_reply import strip_template
from components.asking.prompt_parts import chat_messages, number_lines, question_in_context
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.judges.claim_replies import (
    CLAIMS_SCHEMA,
    VERDICTS_SCHEMA,
    ClaimVerdict,
    Support,
    read_claims,
    read_verdicts,
)
from components.limits import too_small
from components.protocols import Ask, Component
from components.records import Request, Sample, ScoreState
from components.text.templates import fill, missing_placeholders

Claims = tuple[str, ...]
Verdicts = tuple[ClaimVerdict, ...]


@dataclass(frozen=True)
class SourceText:
    """A text to split into claims: an answer to the question of the sample, or its references. `name` identifies it."""

    name: str
    sample: Sample
    text: str


@dataclass(frozen=True)
class Check:
    """Claims to check against texts together. `name` identifies the check within its sample."""

    name: str
    sample: Sample
    claims: Claims
    texts: tuple[str, ...]


class Entailment(Component, Protocol):
    """A model that decides without a language model whether texts support claims."""

    def verdicts(self, checks: Sequence[Check]) -> list[Verdicts]:
        """Return for each check one verdict per claim."""


@dataclass(frozen=True)
class Undecided:
    """An `Entailment` that decides nothing, for plans: no requests depend on its verdicts."""

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return no error messages."""
        return []

    def verdicts(self, checks: Sequence[Check]) -> list[Verdicts]:
        """Return the verdict "neither" for every claim."""
        return [(ClaimVerdict(Support.NEITHER),) * len(check.claims) for check in checks]


@dataclass(frozen=True)
class ClaimExtractor:
    """Splits texts into claims. `claim_prompt` has placeholders for {question} and {text}.

    A text with more than `max_claims` claims is UNPARSABLE. A reply that cannot be read is requested again with
    `reminder`, up to `max_attempts` attempts in total.
    """

    system: str
    claim_prompt: str
    reminder: str
    max_claims: int
    max_attempts: int

    def problems(self) -> list[str]:
        """Return error messages for missing placeholders, and numbers below 1."""
        problems = missing_placeholders("claim_prompt", self.claim_prompt, ("{question}", "{text}"))
        return problems + too_small(self, max_claims=1, max_attempts=1)

    def claims(self, sources: Sequence[SourceText], ask: Ask) -> list[Claims | UnreadableReply]:
        """Return the claims of each text, () if it states nothing."""
        replies = ask_until_readable(list(map(self._ask_claims, sources)), ask, self.reminder, self.max_attempts)
        return [claims if isinstance(claims, UnreadableReply) else self._limit(claims) for claims in replies]

    def _limit(self, claims: Claims) -> Claims | UnreadableReply:
        if len(claims) <= self.max_claims:
            return claims
        reason = f"{len(claims)} claims, more than max_claims={self.max_claims}, the last one: {claims[-1]}"
        return UnreadableReply(ScoreState.UNPARSABLE, f"cannot be read: {reason}")

    def _ask_claims(self, source: SourceText) -> Inquiry[Claims]:
        values = {"{question}": question_in_context(source.sample), "{text}": source.text}
        messages = chat_messages(self.system, fill(self.claim_prompt, values))
        request = Request(f"{source.sample.id}#{source.name}", messages, source.sample, (), CLAIMS_SCHEMA)
        return Inquiry(request, lambda reply: read_claims(reply, self.claim_prompt))


class ChecksClaims(Protocol):
    """The fields of a judge that checks claims."""

    @property
    def system(self) -> str: ...

    @property
    def verdict_prompt(self) -> str: ...

    @property
    def reminder(self) -> str: ...

    @property
    def max_claims(self) -> int: ...

    @property
    def one_by_one(self) -> bool: ...

    @property
    def max_attempts(self) -> int: ...

    @property
    def entailment(self) -> Entailment | None: ...


@dataclass(frozen=True)
class ClaimChecker:
    """Checks whether texts support claims. `verdict_prompt` has placeholders for {claims} and {passages}.

    With `one_by_one`, each claim is checked in a separate request. `entailment` checks claims in place of the
    language model. A reply without exactly one verdict per claim is requested again with `reminder`, up to
    `max_attempts` attempts in total.
    """

    system: str
    verdict_prompt: str
    reminder: str
    max_claims: int
    one_by_one: bool
    max_attempts: int
    entailment: Entailment | None

    @classmethod
    def from_judge(cls, judge: ChecksClaims) -> "ClaimChecker":
        """Return the checker of a judge, with the judge's fields."""
        return cls(
            judge.system,
            judge.verdict_prompt,
            judge.reminder,
            judge.max_claims,
            judge.one_by_one,
            judge.max_attempts,
            judge.entailment,
        )

    def problems(self) -> list[str]:
        """Return error messages for missing placeholders, and numbers below 1."""
        problems = missing_placeholders("verdict_prompt", self.verdict_prompt, ("{claims}", "{passages}"))
        return problems + too_small(self, max_claims=1, max_attempts=1)

    @property
    def n_requests_per_check(self) -> int:
        """Maximum number of requests for one check."""
        if self.entailment:
            return 0
        return self.max_claims if self.one_by_one else 1

    def verdicts(self, checks: Sequence[Check], ask: Ask) -> list[Verdicts | UnreadableReply]:
        """Return the verdicts of each check, one per claim; UnreadableReply if any of its claims has none."""
        if self.entailment:
            return list(self.entailment.verdicts(checks))
        parts = [self._parts(check) for check in checks]
        inquiries = [self._ask_verdicts(part) for part in chain.from_iterable(parts)]
        read = ask_until_readable(inquiries, ask, self.reminder, self.max_attempts)
        replies = iter(read)
        return [_join(list(islice(replies, len(check_parts)))) for check_parts in parts]

    def _parts(self, check: Check) -> list[Check]:
        if not self.one_by_one:
            return [check]
        return [
            replace(check, name=f"{check.name}.{number}", claims=(claim,))
            for number, claim in enumerate(check.claims, start=1)
        ]

    def _ask_verdicts(self, check: Check) -> Inquiry[Verdicts]:
        values = {"{claims}": number_lines(check.claims), "{passages}": number_lines(check.texts)}
        messages = chat_messages(self.system, fill(self.verdict_prompt, values))
        request = Request(f"{check.sample.id}#{check.name}", messages, check.sample, (), VERDICTS_SCHEMA)

        def read(reply: str) -> Verdicts | None:
            return read_verdicts(strip_template(reply, self.verdict_prompt), len(check.claims))

        return Inquiry(request, read)


def worst_unread(unread: Sequence[UnreadableReply]) -> UnreadableReply:
    """Return a failed request if there is one, because it is worth repeating, else the first unreadable reply."""
    return min(unread, key=lambda reply: reply.state is not ScoreState.FAILED)


def _join(replies: Sequence[Verdicts | UnreadableReply]) -> Verdicts | UnreadableReply:
    unread = [reply for reply in replies if isinstance(reply, UnreadableReply)]
    if unread:
        return worst_unread(unread)
    return tuple(verdict for reply in replies if not isinstance(reply, UnreadableReply) for verdict in reply)


def verdict_lines(claims: Claims, verdicts: Verdicts) -> str:
    """Return one line per claim for people to read: the verdict, the claim, and the reason."""
    return "\n".join(
        f"{verdict.support}: {claim}{f' ({verdict.reason})' if verdict.reason else ''}"
        for claim, verdict in zip(claims, verdicts, strict=True)
    )
