"""Parts of a set that have nothing in common: no gold document, no text that left the corpus, no conversation."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from components.clusters import clusters_of, connected
from components.errors import ConfigError
from components.json_value import Json
from components.records import Sample
from runner.results.released_set import Testset


class DisjointSplit(NamedTuple):
    """Samples in the order of the set, in how many groups, and how many were asked for."""

    name: str
    n_wanted: float
    n_groups: int
    samples: tuple[Sample, ...]


def split(testset: Testset, sizes: Mapping[str, float], seed: int) -> list[DisjointSplit]:
    """`sizes` are shares of the samples, in any unit. Groups of connected samples go whole, the largest first, to the
    part that still lacks most of what it should have, and the last ones to parts that are empty; the seed orders groups
    of one size.

    Sizes that no such parts can have are met as nearly as that goes. Raises ConfigError for fewer groups than parts.
    """
    groups: dict[int, list[Sample]] = {}
    for number, sample in zip(_groups(testset), testset.samples, strict=True):
        groups.setdefault(number, []).append(sample)
    if len(groups) < len(sizes):
        raise ConfigError(
            f"--sizes: {len(sizes)} parts of {len(groups)} groups; samples that share a gold document, a removed one "
            f"or a conversation are one group, and these {len(testset.samples)} samples make no more. Ask for fewer "
            "parts"
        )
    n_samples = len(testset.samples)
    wanted = {name: n_samples * size / sum(sizes.values()) for name, size in sizes.items()}
    chosen: dict[str, list[list[Sample]]] = {name: [] for name in sizes}
    ordered = sorted(groups.values(), key=lambda own: (-len(own), _drawn(own, seed)))
    for n_left, group in zip(range(len(ordered), 0, -1), ordered, strict=True):
        empty = [name for name, own in chosen.items() if not own]
        names = empty if len(empty) == n_left else list(chosen)
        chosen[max(names, key=lambda name: wanted[name] - sum(map(len, chosen[name])))].append(group)
    parts = {name: {sample.id for group in own for sample in group} for name, own in chosen.items()}
    return [
        DisjointSplit(name, wanted[name], len(chosen[name]), tuple(own for own in testset.samples if own.id in ids))
        for name, ids in parts.items()
    ]


def _groups(testset: Testset) -> Sequence[int]:
    """Turns of a conversation belong together, whether or not their histories tell; so do texts to be continued and
    summarised that were made of one document, which is nobody's gold.
    """
    ties: list[list[tuple[str, Json]]] = []
    for sample, cluster in zip(testset.samples, clusters_of(testset.samples).tolist(), strict=True):
        made_of = testset.provenance.get(sample.id, {})
        conversation = made_of.get("conversation")
        removed = [("removed", document_id) for document_id in made_of.get("removed", ())]
        ties.append([("cluster", cluster), *removed, *([("conversation", conversation)] if conversation else [])])
    groups: Sequence[int] = connected(ties).tolist()
    return groups


def _drawn(group: Sequence[Sample], seed: int) -> bytes:
    return sha256(f"{seed} {min(sample.id for sample in group)}".encode()).digest()
