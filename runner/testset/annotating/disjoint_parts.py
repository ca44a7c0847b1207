"""Splits a set into parts that share no gold document, no document removed from the corpus, and no conversation."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from components.clusters import component_ids, number_clusters
from components.errors import ConfigError
from components.json_value import Json
from components.records import Sample
from runner.results.released_set import Testset


class DisjointPart(NamedTuple):
    """One part: its samples in the order of the set, the number of groups that they form, and the requested number of
    samples.
    """

    name: str
    n_requested: float
    n_groups: int
    samples: tuple[Sample, ...]


def split(testset: Testset, sizes: Mapping[str, float], seed: int) -> list[DisjointPart]:
    """Split the samples in proportion to `sizes`, which may be in any unit.

    Groups of connected samples stay whole. The largest groups are assigned first, each to the part that is furthest
    below its size. The last groups go to parts that are still empty. The seed orders groups of equal size.

    Sizes that whole groups cannot reach are approximated. Raises ConfigError for fewer groups than parts.
    """
    groups: dict[int, list[Sample]] = {}
    for number, sample in zip(_groups(testset), testset.samples, strict=True):
        groups.setdefault(number, []).append(sample)
    if len(groups) < len(sizes):
        raise ConfigError(
            f"--sizes: got {len(sizes)} parts, but these {len(testset.samples)} samples form only {len(groups)} "
            "groups; samples that share a gold document, a removed document or a conversation are one group. "
            "Request fewer parts."
        )
    n_samples = len(testset.samples)
    requested = {name: n_samples * size / sum(sizes.values()) for name, size in sizes.items()}
    chosen: dict[str, list[list[Sample]]] = {name: [] for name in sizes}
    ordered = sorted(groups.values(), key=lambda group: (-len(group), _seeded_hash(group, seed)))
    for n_left, group in zip(range(len(ordered), 0, -1), ordered, strict=True):
        empty = [name for name, part in chosen.items() if not part]
        names = empty if len(empty) == n_left else list(chosen)
        chosen[max(names, key=lambda name: requested[name] - sum(map(len, chosen[name])))].append(group)
    parts = {name: {sample.id for group in part for sample in group} for name, part in chosen.items()}
    return [
        DisjointPart(
            name, requested[name], len(chosen[name]), tuple(member for member in testset.samples if member.id in ids)
        )
        for name, ids in parts.items()
    ]


def _groups(testset: Testset) -> Sequence[int]:
    """Return the number of each sample's group.

    Turns of a conversation belong together, even if their histories do not show it. Samples made from the same removed
    document belong together too, although it is not their gold: texts to be continued or summarized.
    """
    ties: list[list[tuple[str, Json]]] = []
    for sample, cluster in zip(testset.samples, number_clusters(testset.samples).tolist(), strict=True):
        provenance = testset.provenance.get(sample.id, {})
        conversation = provenance.get("conversation")
        removed = [("removed", document_id) for document_id in provenance.get("removed", ())]
        ties.append([("cluster", cluster), *removed, *([("conversation", conversation)] if conversation else [])])
    groups: Sequence[int] = component_ids(ties).tolist()
    return groups


def _seeded_hash(group: Sequence[Sample], seed: int) -> bytes:
    return sha256(f"{seed} {min(sample.id for sample in group)}".encode()).digest()
