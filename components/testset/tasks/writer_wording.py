"""What a writer is told and shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from components.asking.templates import chat
from components.records import Kind, Message, Request, Sample
from components.testset.protocols import SourceCorpus
from components.testset.records import EvidenceSet, Topic
from components.testset.shown_documents import shown_documents
from components.text.templates import fill, missing_places


@dataclass(frozen=True)
class WriterWording:
    """`instruction` has places for {documents} and {topic}, and may have some for {rules} and {citing}, which are what
    several tasks say in common. `any_topic` stands in the place of the topic where there are none. `reminder` follows
    a reply that cannot be read.
    """

    system: str
    instruction: str
    reminder: str
    rules: str = ""
    citing: str = ""
    any_topic: str = ""

    def check(self) -> list[str]:
        """Places that the instruction lacks."""
        return missing_places("instruction", self.instruction, ("{documents}", "{topic}"))

    def request(self, evidence: EvidenceSet, corpus: SourceCorpus, kind: Kind, schema: Mapping[str, Any]) -> Request:
        """For one JSON object about an evidence set. A backend knows no more of the sample than the messages say."""
        about = Sample(evidence.id, "", kind, "", ())
        return Request(evidence.id, self.messages(evidence, corpus), about, (), schema)

    def messages(self, evidence: EvidenceSet, corpus: SourceCorpus) -> tuple[Message, ...]:
        """What requests of a task have in common comes first, so that servers may keep it."""
        topic = next((own for own in corpus.topics if own.slug == evidence.topic), None)
        values = {
            "{documents}": shown_documents(evidence.extracts),
            "{topic}": _in_words(topic) if topic else self.any_topic,
        }
        instruction = fill(self.instruction, {"{rules}": self.rules, "{citing}": self.citing})
        return chat(self.system, fill(instruction, values))


def _in_words(topic: Topic) -> str:
    name = " > ".join(topic.path) or topic.slug
    return f"{name}: {topic.description}" if topic.description else name
