"""Topics that a model drafts from the corpus."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from components.asking.model_reply import json_values
from components.asking.prompt_parts import number_lines
from components.asking.readable_requests import Inquiry, UnreadableReply, ask_until_readable
from components.errors import ComponentError, DataError
from components.limits import too_small
from components.protocols import LLM, Ask
from components.records import Kind, ScoreState
from components.testset.protocols import SourceCorpus
from components.testset.records import Topic
from components.testset.topics.tree import MAX_NAME_CHARACTERS, Leaf, list_topics, normalize_name
from components.testset.wording import TEXT, Wording, object_schema, quote_text
from components.text.slugs import plain_name

_WHERE = "topics"
_SCHEMA: Mapping[str, object] = object_schema(
    topics={"type": "array", "items": object_schema(area=TEXT, name=TEXT, description=TEXT)}
)


@dataclass(frozen=True)
class DraftedTopics:
    """A model drafts a topic tree of two levels from each of several samples of documents, and merges the drafts.

    Up to `n_samples` samples are drawn by `seed`, without repeated documents. The model sees the title and the first
    `n_characters` of each of `n_documents` documents. It merges the drafts into one tree of at most `n_topics` topics,
    and sees how many drafts have each name. A single draft is not merged. Source of the idea: Wang et al. 2024,
    "OmniEval", section 3.1, which drafts topics and drops those with few documents.

    `draft` has placeholders for {documents} and {n}, `merge` for {drafts} and {n}. A draft that cannot be read after
    `max_attempts` is left out.
    """

    llm: LLM
    draft: Wording
    merge: Wording
    n_topics: int = 16
    n_samples: int = 4
    n_documents: int = 40
    n_characters: int = 300
    seed: int = 0
    max_attempts: int = 3

    version: ClassVar[int] = 2

    def check(self) -> list[str]:
        """Return an error message for numbers out of range, and for missing or unknown placeholders."""
        problems = too_small(self, n_topics=1, n_samples=1, n_documents=1, n_characters=1, max_attempts=1)
        problems += self.draft.problems("draft", ("{documents}", "{n}"))
        return problems + self.merge.problems("merge", ("{drafts}", "{n}"))

    @property
    def n_requests(self) -> int:
        """One request per sample, and one to merge the drafts."""
        return self.n_samples + (self.n_samples > 1)

    def topics(self, corpus: SourceCorpus, ask: Ask) -> Sequence[Topic]:
        """Return the leaves of the merged tree. Raises ComponentError if a request failed, or if no draft could be
        read.
        """
        drafts = self._drafts(corpus, ask)
        return drafts[0] if len(drafts) == 1 else self._merge(drafts, ask)

    def _drafts(self, corpus: SourceCorpus, ask: Ask) -> list[tuple[Topic, ...]]:
        inquiries = []
        for number, ids in enumerate(self._samples(sorted(corpus.texts))):
            texts = number_lines([self._show(corpus.titles.get(an_id, ""), corpus.texts[an_id]) for an_id in ids])
            inquiries.append(self._inquiry(self.draft, f"draft {number}", "{documents}", texts))
        replies = ask_until_readable(inquiries, ask, self.draft.reminder, self.max_attempts)
        return _require_read(replies, "draft")

    def _merge(self, drafts: Sequence[tuple[Topic, ...]], ask: Ask) -> tuple[Topic, ...]:
        inquiry = self._inquiry(self.merge, "merged", "{drafts}", number_lines(_lines(drafts)))
        replies = ask_until_readable([inquiry], ask, self.merge.reminder, self.max_attempts)
        return _require_read(replies, "merged tree")[0]

    def _samples(self, ids: Sequence[str]) -> list[list[str]]:
        chosen = random.Random(self.seed).sample(ids, min(len(ids), self.n_samples * self.n_documents))  # noqa: S311
        return [chosen[first : first + self.n_documents] for first in range(0, len(chosen), self.n_documents)]

    def _show(self, title: str, text: str) -> str:
        return quote_text(" | ".join(filter(None, [title[:MAX_NAME_CHARACTERS], text[: self.n_characters]])))

    def _inquiry(self, wording: Wording, name: str, placeholder: str, text: str) -> Inquiry[tuple[Topic, ...]]:
        values = {placeholder: text, "{n}": str(self.n_topics)}
        return Inquiry(wording.request(name, values, Kind.QA, _SCHEMA), self._read)

    def _read(self, reply: str) -> tuple[Topic, ...] | None:
        """Return the first `n_topics` in a reply, or None if it has no topics or its tree is invalid."""
        lists = [value["topics"] for value in json_values(reply) if isinstance(value, dict) and "topics" in value]
        try:
            leaves = [_leaf(item) for item in lists[0]] if lists and isinstance(lists[0], list) else []
            return list_topics(leaves[: self.n_topics], _WHERE)
        except DataError:  # the request is repeated
            return None


def _leaf(item: object) -> Leaf:
    """Return the leaf of an item. Raises DataError if it is not a topic with a name."""
    record = item if isinstance(item, dict) else {"name": item}
    area, name = record.get("area"), normalize_name(record.get("name"), _WHERE)
    path = (name,) if area in (None, "") else (normalize_name(area, _WHERE), name)
    return Leaf(path, str(record.get("description") or ""))


def _require_read(replies: Sequence[tuple[Topic, ...] | UnreadableReply], what: str) -> list[tuple[Topic, ...]]:
    unread = [reply for reply in replies if isinstance(reply, UnreadableReply)]
    read = [reply for reply in replies if not isinstance(reply, UnreadableReply)]
    if failed := [reply for reply in unread if reply.state is ScoreState.FAILED]:
        raise ComponentError(
            f"topics: the request for a {what} failed: {failed[0].reason}. Run the same command again: "
            "finished work is cached."
        )
    if not read:
        why = unread[0].reason if unread else "the corpus has no documents"
        raise ComponentError(
            f"topics: got no readable {what} from the model: {why}. Use another model, or provide a topic tree."
        )
    return read


def _lines(drafts: Sequence[tuple[Topic, ...]]) -> list[str]:
    """Return each path once, the most frequent first, with its number of drafts and its first description."""
    lines: dict[tuple[str, ...], str] = {}
    n_of: Counter[tuple[str, ...]] = Counter()
    for topic in (topic for draft in drafts for topic in draft):
        form = tuple(plain_name(name).lower() for name in topic.path)
        lines.setdefault(form, ": ".join(filter(None, [" / ".join(topic.path), topic.description])))
        n_of[form] += 1
    return [f"{lines[form]} ({n} / {len(drafts)})" for form, n in n_of.most_common()]
