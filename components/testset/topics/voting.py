"""Assignment of a topic to a document by several voters, with an adjudicator if they disagree."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import Kind, ScoreState
from components.statistics import Alpha, MeasurementLevel, krippendorff_alpha
from components.testset.records import Topic
from components.testset.topics.options import OUT_OF_DOMAIN, Options, TopicChoice, shuffle
from components.testset.wording import Wording, quote_text

ADJUDICATOR = "adjudicator"


@dataclass(frozen=True)
class Voter:
    """A model with its wording, which has placeholders for {text} and {options}. It sees the first `n_characters` of a
    text.
    """

    llm: LLM
    wording: Wording
    n_characters: int = 4000
    max_attempts: int = 3

    def check(self) -> list[str]:
        """Return an error message for numbers out of range, and for missing or unknown placeholders."""
        problems = too_small(self, n_characters=1, max_attempts=1)
        return problems + self.wording.problems("wording", ("{text}", "{options}"))


@dataclass(frozen=True)
class Vote:
    """A topic's slug, "" for out of domain, or None for no vote.

    Without a vote, `reason` says why. `has_failed` means that the request failed, so that a later run asks again.
    """

    slug: str | None
    reason: str
    has_failed: bool = False


@dataclass(frozen=True)
class TopicVotes:
    """The votes on one document, by the voters' names.

    `winner` is a slug, "" for a document without a topic. `adjudication` is the adjudicator's vote, None if it was not
    asked. `is_pending` means that a failed request prevents a decision: there is no winner yet, and a later run asks
    again.
    """

    document_id: str
    votes: Mapping[str, Vote]
    winner: str
    adjudication: Vote | None = None
    is_pending: bool = False

    @property
    def was_adjudicated(self) -> bool:
        """True if the voters disagreed and the adjudicator got a request."""
        return self.adjudication is not None


@dataclass(frozen=True)
class TopicVoting:
    """Each voter chooses the main topic of a text, or none. A choice of two thirds of all voters wins.

    Otherwise the adjudicator chooses among the voted topics. If no topic fits, or if the reply is unreadable, the
    document has no topic. A vote that cannot be read, or whose request failed, counts for no option.

    Options are shuffled for each voter and document by `seed`. Source of the idea, with one classifier: Wang et al.
    2024, "OmniEval", section 3.1.
    """

    voters: Mapping[str, Voter]
    adjudicator: Voter
    seed: int = 0

    version: ClassVar[int] = 3

    def check(self) -> list[str]:
        """Return an error message without voters, or for a voter with the adjudicator's name."""
        if not self.voters:
            return ["voters: got none, expected at least one; three are usual"]
        if ADJUDICATOR in self.voters:
            return [f"voters.{ADJUDICATOR}: is the adjudicator's name. Rename the voter."]
        return []

    @property
    def models(self) -> Mapping[str, LLM]:
        """Models by the names of voters, and "adjudicator"."""
        return {name: voter.llm for name, voter in (*self.voters.items(), (ADJUDICATOR, self.adjudicator))}

    @property
    def n_requests(self) -> int:
        """Maximum number of requests for one document if every reply can be read."""
        return len(self.voters) + 1

    def classify(
        self, ids: Sequence[str], texts: Sequence[str], topics: Sequence[Topic], ask_of: Callable[[str], Ask]
    ) -> list[TopicVotes]:
        """Return the votes on each text, in order. `ask_of` returns the `Ask` of a model by its name in `models`.

        Without texts, no request is sent.
        """
        votes_by_voter = {
            name: _votes(voter, texts, [shuffle(topics, str(self.seed), name, an_id) for an_id in ids], ask_of(name))
            for name, voter in self.voters.items()
        }
        voted = [
            _VotedText(ids[row], texts[row], {name: votes[row] for name, votes in votes_by_voter.items()})
            for row in range(len(ids))
        ]
        counted = [_count_votes(entry) for entry in voted]
        undecided = [entry for entry, decision in zip(voted, counted, strict=True) if decision is None]
        adjudicated = iter(self._adjudicate(undecided, topics, ask_of(ADJUDICATOR)) if undecided else ())
        return [decision or next(adjudicated) for decision in counted]

    def _adjudicate(self, voted: Sequence["_VotedText"], topics: Sequence[Topic], ask: Ask) -> list[TopicVotes]:
        """Return the adjudicated votes. The options are the voted topics."""
        options = []
        for entry in voted:
            named = {vote.slug for vote in entry.votes.values()}
            candidates = [topic for topic in topics if topic.slug in named]
            options.append(shuffle(candidates, str(self.seed), ADJUDICATOR, entry.document_id))
        votes = _votes(self.adjudicator, [entry.text for entry in voted], options, ask)
        return [
            TopicVotes(entry.document_id, entry.votes, vote.slug or OUT_OF_DOMAIN, vote, is_pending=vote.has_failed)
            for entry, vote in zip(voted, votes, strict=True)
        ]


class _VotedText(NamedTuple):
    document_id: str
    text: str
    votes: Mapping[str, Vote]


def _count_votes(voted: _VotedText) -> TopicVotes | None:
    """Return the decision, or None if the adjudicator must decide.

    Without any vote for a topic the document is out of domain, and a missing vote keeps the decision pending.
    """
    votes = voted.votes.values()
    counts = Counter(vote.slug for vote in votes if vote.slug is not None)
    slug, n = next(iter(counts.most_common(1)), (OUT_OF_DOMAIN, 0))
    if 3 * n >= 2 * len(votes):
        return TopicVotes(voted.document_id, voted.votes, slug)
    if any(vote.has_failed for vote in votes):
        return TopicVotes(voted.document_id, voted.votes, OUT_OF_DOMAIN, is_pending=True)
    return None if counts.keys() - {OUT_OF_DOMAIN} else TopicVotes(voted.document_id, voted.votes, OUT_OF_DOMAIN)


def _votes(voter: Voter, texts: Sequence[str], options: Sequence[Options], ask: Ask) -> list[Vote]:
    """Return a vote for each text. All requests go in one call, because the model behind `ask` answers them in
    parallel.
    """
    inquiries = []
    for row, (text, listed) in enumerate(zip(texts, options, strict=True)):
        values = {"{text}": quote_text(text[: voter.n_characters]), "{options}": listed.shown}
        inquiries.append(Inquiry(voter.wording.request(f"text {row}", values, Kind.QA, listed.schema), listed.read))
    return [
        _to_vote(choice) for choice in ask_until_readable(inquiries, ask, voter.wording.reminder, voter.max_attempts)
    ]


def _to_vote(choice: TopicChoice | UnreadableReply) -> Vote:
    if isinstance(choice, TopicChoice):
        return Vote(choice.slug, choice.reason)
    return Vote(None, choice.reason, has_failed=choice.state is ScoreState.FAILED)


def agreement(votes: Sequence[TopicVotes]) -> Alpha:
    """Return Krippendorff's alpha of the voters without the adjudicator. Out of domain counts as a topic."""
    return krippendorff_alpha(
        [[vote.slug for vote in entry.votes.values()] for entry in votes], MeasurementLevel.NOMINAL
    )
