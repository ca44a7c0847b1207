"""Encodes samples as JSON, and decodes them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from components.json_value import Json
from components.records import Condition, Evidence, Kind, Sample, Turn

_ADDED_LATER: dict[str, Json] = {"conditions": (), "expansion": "", "held_out": False, "fake_answers": ()}
"""Fields that were added to samples after some were stored, with their defaults.

A field with its default is left out, so that unchanged data sets keep their keys.
"""


def encode_samples(samples: Iterable[Sample]) -> list[Json]:
    """Return one object per sample."""
    return [_encode(sample) for sample in samples]


def _encode(sample: Sample) -> dict[str, Json]:
    raw = asdict(sample)
    for unit in raw["gold"]:
        if not unit["one_of"]:  # `one_of` was added later, as the fields above
            del unit["one_of"]
    return {name: value for name, value in raw.items() if name not in _ADDED_LATER or value != _ADDED_LATER[name]}


def decode_samples(raw: Sequence[Mapping[str, Json]]) -> tuple[Sample, ...]:
    """Return the samples of `encode_samples`. Fields that were added since they were stored have their defaults."""
    return tuple(_sample(item) for item in raw)


def _sample(raw: Mapping[str, Json]) -> Sample:
    nested = {
        "kind": Kind(raw["kind"]),
        "references": tuple(raw["references"]),
        "gold": tuple(Evidence(**unit) for unit in raw["gold"]),
        "history": tuple(Turn(**turn) for turn in raw["history"]),
        "answer_parts": tuple(tuple(wordings) for wordings in raw["answer_parts"]),
        "passages": tuple(raw["passages"]),
        "fake_answers": tuple(raw.get("fake_answers", ())),
        "conditions": tuple((name, _condition(condition)) for name, condition in raw.get("conditions", ())),
    }
    return Sample(**{**raw, **nested})


def _condition(raw: Mapping[str, Json]) -> Condition:
    return Condition(**{**raw, "equals": tuple(raw["equals"])})
