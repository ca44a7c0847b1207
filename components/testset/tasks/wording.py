"""What a writer is told and shown."""

from collections.abc import Sequence
from dataclasses import dataclass

from components.asking.templates import chat
from components.records import Message
from components.testset.protocols import Corpus
from components.testset.quotes import numbered_sentences
from components.testset.records import EvidenceSet, Extract, Topic
from components.text.templates import fill, missing_places

_LONGEST_TITLE = 200


@dataclass(frozen=True)
class Wording:
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

    def messages(self, evidence: EvidenceSet, corpus: Corpus) -> tuple[Message, ...]:
        """What equal tasks have in common comes first, so that servers may keep it."""
        topic = next((own for own in corpus.topics if own.slug == evidence.topic), None)
        values = {
            "{documents}": shown_documents(evidence.extracts),
            "{topic}": _in_words(topic) if topic else self.any_topic,
        }
        instruction = fill(self.instruction, {"{rules}": self.rules, "{citing}": self.citing})
        return chat(self.system, fill(instruction, values))


def shown_documents(extracts: Sequence[Extract]) -> str:
    """Each extract as a numbered document, a sentence to a line with its number in brackets. What a document says
    cannot begin a line, and so cannot look like the end of a document or like another sentence.
    """
    lines: list[list[str]] = [[] for _ in extracts]
    for number, (extract, start, end) in enumerate(numbered_sentences(extracts), 1):
        first = extracts[extract].start
        lines[extract].append(f"[{number}] {_in_a_line(extracts[extract].text[start - first : end - first])}")
    shown = [
        "\n".join([f"<document {n}>{_in_a_line(extract.title)[:_LONGEST_TITLE]}", *own, f"</document {n}>"])
        for n, (extract, own) in enumerate(zip(extracts, lines, strict=True), 1)
    ]
    return "\n\n".join(shown)


def _in_words(topic: Topic) -> str:
    name = " > ".join(topic.path) or topic.slug
    return f"{name}: {topic.description}" if topic.description else name


def _in_a_line(text: str) -> str:
    return " ".join(text.split())
