"""Samples as JSON, and back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from components.json_value import Json
from components.records import Evidence, Kind, Sample, Turn


def encode_samples(samples: Iterable[Sample]) -> list[Json]:
    """One object per sample."""
    return [asdict(sample) for sample in samples]


def decode_samples(raw: Sequence[Mapping[str, Json]]) -> tuple[Sample, ...]:
    """The samples."""
    return tuple(_sample(item) for item in raw)


def _sample(raw: Mapping[str, Json]) -> Sample:
    nested = {
        "kind": Kind(raw["kind"]),
        "references": tuple(raw["references"]),
        "gold": tuple(Evidence(**unit) for unit in raw["gold"]),
        "history": tuple(Turn(**turn) for turn in raw["history"]),
        "answer_parts": tuple(tuple(wordings) for wordings in raw["answer_parts"]),
        "passages": tuple(raw["passages"]),
    }
    return Sample(**{**raw, **nested})
