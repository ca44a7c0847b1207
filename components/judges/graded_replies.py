"""Replies of a grading judge: their schemas, and their parsing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.asking.model_reply import parse_flag, parse_whole_number, read_object
from components.json_value import Json


@dataclass(frozen=True)
class GradeVerdict:
    """A grade and the judge's reason ("" if it gave none)."""

    grade: int
    reason: str


@dataclass(frozen=True)
class Applicability:
    """The judge's decision whether a metric applies to a question, with its reason."""

    applicable: bool
    reason: str


APPLICABILITY_SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "applicable": {"type": "boolean"}},
    "required": ["reason", "applicable"],
    "additionalProperties": False,
}


def verdict_schema(grades: Sequence[int]) -> Mapping[str, Json]:
    """Return the JSON schema of a reply. The reason comes first, so that the model reasons before it grades."""
    return {
        "type": "object",
        "properties": {"reason": {"type": "string"}, "grade": {"type": "integer", "enum": list(grades)}},
        "required": ["reason", "grade"],
        "additionalProperties": False,
    }


def read_verdict(text: str, grades: Sequence[int]) -> GradeVerdict | None:
    """Return the verdict in a reply, or None if it has no verdict, or its grade is not one of `grades`."""
    reply = read_object(text, "grade") or {}
    grade = parse_whole_number(reply.get("grade"))
    return GradeVerdict(grade, _reason(reply)) if grade is not None and grade in grades else None


def read_applicability(text: str) -> Applicability | None:
    """Return the applicability that a reply states; None if it states none."""
    reply = read_object(text, "applicable") or {}
    applicable = parse_flag(reply.get("applicable"))
    return None if applicable is None else Applicability(applicable, _reason(reply))


def _reason(reply: Mapping[str, Json]) -> str:
    return str(reply.get("reason") or "").strip()
