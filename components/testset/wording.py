"""What a model is asked in, and a request in these words."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from components.asking.templates import chat
from components.asking.written_texts import wording_mistakes
from components.records import Kind, Request, Sample
from components.text.templates import fill


@dataclass(frozen=True)
class Wording:
    """`instruction` has places such as {question}; `reminder` is said after a reply that cannot be read."""

    system: str
    instruction: str
    reminder: str

    def mistakes(self, field: str, places: tuple[str, ...]) -> list[str]:
        """Of the wording in a field: places that are missing, and such as nobody fills in."""
        return [f"{field}.{mistake}" for mistake in wording_mistakes(self.instruction, places)]

    def request(self, request_id: str, values: Mapping[str, str], kind: Kind, schema: Mapping[str, Any]) -> Request:
        """A request for one JSON object. A backend knows no more of the sample than the messages say."""
        messages = chat(self.system, fill(self.instruction, values))
        return Request(request_id, messages, Sample(request_id, "", kind, "", ()), (), schema)


_TAG = re.compile(r"<(?=\s*/?\s*document\b)", re.IGNORECASE)


def quoted(text: str) -> str:
    """What somebody else wrote, in one line, and without the tags between which it is shown: it can neither look like
    the end of a document nor like a line of an instruction.
    """
    return _TAG.sub("‹", " ".join(text.split()))


def object_schema(**properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """JSON schema of an object with these properties, in this order, all of them wanted."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


TEXT: Mapping[str, Any] = {"type": "string"}
FLAG: Mapping[str, Any] = {"type": "boolean"}
