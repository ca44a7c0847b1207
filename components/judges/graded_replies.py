"""Replies of a grading judge: their schemas, and their parsing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.asking.reply import flag, read_object, whole_number
from components.json_value import Json


@dataclass(frozen=True)
class GradeVerdict:
    """A grade and the judge's reason ("" without one)."""

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
    """Return the verdict in a reply; None without one, or if its grade is not one of `grades`."""
    found = read_object(text, "grade") or {}
    grade = whole_number(found.get("grade"))
    return GradeVerdict(grade, _reason(found)) if grade is not None and grade in grades else None


def read_applicability(text: str) -> Applicability | None:
    """Return the applicability that a reply states; None if it states none."""
    found = read_object(text, "applicable") or {}
    applicable = flag(found.get("applicable"))
    return None if applicable is None else Applicability(applicable, _reason(found))


def _reason(found: Mapping[str, Json]) -> str:
    return str(found.get("reason") or "").strip()
