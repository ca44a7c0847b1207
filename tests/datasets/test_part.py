"""A data set without its held-out samples, and the held-out samples."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from components.clusters import number_clusters
from components.datasets.demo import Demo
from components.datasets.part import Part
from components.errors import ConfigError, DataError
from components.protocols import DatasetOverSource
from components.records import Benchmark, Documents, Evidence, Kind, Sample


@dataclass(frozen=True)
class Clustered:
    """Samples 0 and 1 have gold in common, and so on."""

    n_samples: int = 20
    n_in_common: int = 2

    version: ClassVar[int] = 1
    name: ClassVar[str] = "clustered"

    def fingerprint(self) -> str:
        return "0" * 64

    def load(self) -> Benchmark:
        n = self.n_in_common
        samples = [
            Sample(f"s{i}", "s", Kind.QA, f"{i}?", ("yes",), (Evidence(f"d{i // n}"),)) for i in range(self.n_samples)
        ]
        ids = sorted({unit.document_id for sample in samples for unit in sample.gold})
        return Benchmark(Documents(ids, ids, ids), tuple(samples))


def test_sample_is_in_one_part_and_no_cluster_in_two() -> None:
    whole = Clustered()
    rest, held_out = (Part(whole, 0.3, is_held_out=is_held_out).load() for is_held_out in (False, True))
    ids = [sample.id for part in (rest, held_out) for sample in part.samples]
    assert sorted(ids) == sorted(sample.id for sample in whole.load().samples)
    assert len(held_out.samples) == 6
    assert rest.notes["n_samples_held_out"] == held_out.notes["n_samples_held_out"] == 6
    clusters = number_clusters([*rest.samples, *held_out.samples]).tolist()
    assert set(clusters[:14]).isdisjoint(clusters[14:])
    assert rest.documents == held_out.documents == whole.load().documents


def test_part_seed_draws_the_clusters() -> None:
    drawn = {tuple(sample.id for sample in Part(Clustered(), 0.3, seed, True).load().samples) for seed in range(4)}
    assert len(drawn) > 1


def test_both_parts_keep_at_least_one_cluster() -> None:
    assert len(Part(Clustered(), 0.01, is_held_out=True).load().samples) == 2
    assert len(Part(Clustered(), 0.99).load().samples) == 2


def test_every_kind_has_its_share_in_both_parts() -> None:
    for seed in range(5):
        rest, held_out = (
            Counter(sample.kind for sample in Part(Demo(), 0.1, seed, is_held_out).load().samples)
            for is_held_out in (False, True)
        )
        for kind in Kind:
            assert held_out[kind] >= 0.1 * (held_out[kind] + rest[kind]) > 0
            assert rest[kind] > 0


def test_fully_connected_data_set_cannot_be_split() -> None:
    with pytest.raises(DataError, match="clustered: all 20 samples are connected by gold documents"):
        Part(Clustered(n_in_common=20)).load()


def test_part_limit_counts_samples_of_the_part() -> None:
    assert len(Part(Clustered(), 0.3, limit=5).load().samples) == 5


def test_part_has_the_name_and_fingerprint_of_the_whole() -> None:
    part = Part(Demo())
    assert (part.name, part.fingerprint()) == ("demo", Demo().fingerprint())
    assert part.source is None


@dataclass(frozen=True)
class OverSource(Clustered):
    """A data set whose documents are read separately."""

    source: ClassVar[str] = "the source"

    def load_over(self, documents: Documents, counts: Mapping[str, int | str]) -> Benchmark:
        return replace(self.load(), documents=documents, notes=counts)


def test_parts_read_a_shared_source_once() -> None:
    whole = OverSource()
    part = Part(whole, 0.3)
    assert isinstance(part, DatasetOverSource)
    assert part.source == "the source"
    loaded = part.load_over(whole.load().documents, {"n_read": 7})
    assert (len(loaded.samples), loaded.notes["n_read"]) == (14, 7)


def test_part_rejects_shares_of_zero_and_one() -> None:
    assert Part(Clustered(), 1.0).check() == ["held_out_share: got 1.0, expected a share in (0, 1)"]
    with pytest.raises(ConfigError, match="held_out_share"):
        Part(Clustered(), 0.0).load()
