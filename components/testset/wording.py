"""The prompt of a request to a model, and the request built from it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from components.asking.prompt_parts import chat_messages
from components.asking.written_texts import wording_problems
from components.records import Kind, Request, Sample
from components.text.templates import fill


@dataclass(frozen=True)
class Wording:
    """A prompt. `instruction` has placeholders such as {question}. `reminder` follows a reply that cannot be read."""

    system: str
    instruction: str
    reminder: str

    def problems(self, field: str, placeholders: tuple[str, ...]) -> list[str]:
        """Return one message per missing or unknown placeholder of the wording in `field`."""
        return [f"{field}.{problem}" for problem in wording_problems(self.instruction, placeholders)]

    def request(self, request_id: str, values: Mapping[str, str], kind: Kind, schema: Mapping[str, object]) -> Request:
        """Return a request for one JSON object. A backend sees only the messages, not the sample."""
        messages = chat_messages(self.system, fill(self.instruction, values))
        return Request(request_id, messages, Sample(request_id, "", kind, "", ()), (), schema)


_TAG = re.compile(r"<(?=\s*/?\s*document\b)", re.IGNORECASE)


def quote_text(text: str) -> str:
    """Return text of another author on one line, without the tags that mark documents.

    It can then imitate neither the end of a document nor a line of an instruction.
    """
    return _TAG.sub("‹", " ".join(text.split()))


def object_schema(**properties: Mapping[str, object]) -> Mapping[str, object]:
    """Return the JSON schema of an object with these properties, in this order, all of them required."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


TEXT: Mapping[str, object] = {"type": "string"}
FLAG: Mapping[str, object] = {"type": "boolean"}
