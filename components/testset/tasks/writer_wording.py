"""The prompt of a writer."""

from collections.abc import Mapping
from dataclasses import dataclass

from components.asking.prompt_parts import chat_messages
from components.records import Kind, Message, Request, Sample
from components.testset.protocols import SourceCorpus
from components.testset.records import EvidenceSet, Topic
from components.testset.shown_documents import shown_documents
from components.text.templates import fill, missing_placeholders


@dataclass(frozen=True)
class WriterWording:
    """The wording of a writer's prompt.

    `instruction` has placeholders for {documents} and {topic}. It may have placeholders for {rules} and {citing}, which
    several tasks share. `any_topic` replaces the topic if the evidence has none. `reminder` follows a reply that cannot
    be read.
    """

    system: str
    instruction: str
    reminder: str
    rules: str = ""
    citing: str = ""
    any_topic: str = ""

    def check(self) -> list[str]:
        """Return one message per placeholder that the instruction lacks."""
        return missing_placeholders("instruction", self.instruction, ("{documents}", "{topic}"))

    def request(self, evidence: EvidenceSet, corpus: SourceCorpus, kind: Kind, schema: Mapping[str, object]) -> Request:
        """Return a request for one JSON object about an evidence set. A backend sees only the messages, not the
        sample.
        """
        about = Sample(evidence.id, "", kind, "", ())
        return Request(evidence.id, self.messages(evidence, corpus), about, (), schema)

    def messages(self, evidence: EvidenceSet, corpus: SourceCorpus) -> tuple[Message, ...]:
        """Return the messages. The common part of a task's requests comes first, so that servers can cache it."""
        topic = next((candidate for candidate in corpus.topics if candidate.slug == evidence.topic), None)
        values = {
            "{documents}": shown_documents(evidence.extracts),
            "{topic}": _topic_text(topic) if topic else self.any_topic,
        }
        instruction = fill(self.instruction, {"{rules}": self.rules, "{citing}": self.citing})
        return chat_messages(self.system, fill(instruction, values))


def _topic_text(topic: Topic) -> str:
    name = " > ".join(topic.path) or topic.slug
    return f"{name}: {topic.description}" if topic.description else name
