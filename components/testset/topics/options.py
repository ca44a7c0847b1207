"""Topics as numbered options, in a different order for each voter and document."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from components.asking.model_reply import parse_whole_number, read_object
from components.asking.prompt_parts import number_lines
from components.testset.records import Topic
from components.testset.wording import TEXT, object_schema

OUT_OF_DOMAIN = ""
"""Empty slug for no topic: number 0 among the options."""


@dataclass(frozen=True)
class TopicChoice:
    """A model's choice with its reason. The slug is "" for out of domain."""

    slug: str
    reason: str


@dataclass(frozen=True)
class Options:
    """Topics as options, numbered from 1."""

    topics: tuple[Topic, ...]

    @property
    def shown(self) -> str:
        """One line per topic: [1] Investment / Funds: its description."""
        return number_lines(
            [": ".join(filter(None, [" / ".join(topic.path), topic.description])) for topic in self.topics]
        )

    @property
    def schema(self) -> Mapping[str, object]:
        """JSON schema of a reply. The reason comes first, so that the model reasons before it chooses."""
        numbers = list(range(len(self.topics) + 1))
        return object_schema(reason=TEXT, topic={"type": "integer", "enum": numbers})

    def read(self, reply: str) -> TopicChoice | None:
        """Return the choice in a reply, or None if it has no valid choice."""
        fields = read_object(reply, "topic") or {}
        number = parse_whole_number(fields.get("topic"))
        if number is None or not 0 <= number <= len(self.topics):
            return None
        slug = self.topics[number - 1].slug if number else OUT_OF_DOMAIN
        return TopicChoice(slug, str(fields.get("reason") or "").strip())


def shuffle(topics: Sequence[Topic], *order_of: str) -> Options:
    """Return the topics in an order that depends only on the strings `order_of`, because models favour the first
    options.
    """
    order = random.Random(sha256("\0".join(order_of).encode("utf-8", "surrogatepass")).digest())  # noqa: S311
    return Options(tuple(order.sample(list(topics), len(topics))))
