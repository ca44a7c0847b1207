"""A smaller, representative part of the samples for quick runs."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from components.records import Sample

_STRATA: tuple[Callable[[Sample], str], ...] = (
    lambda sample: sample.subset,
    lambda sample: f"{sample.topic}/{sample.task}",
)
"""Samples are allocated to subsets first, and within each to the fields of the topic x task matrix."""


def limit_mistakes(limit: int | None, max_documents: int | None) -> list[str]:
    """What is wrong with the two limits of a data set."""
    of_what = {"limit": (limit, "samples"), "max_documents": (max_documents, "documents")}
    return [
        f"{name}: came {value}; expected 1 or more, or null for all {what}"
        for name, (value, what) in of_what.items()
        if value is not None and value < 1
    ]


def limit_samples(samples: Sequence[Sample], limit: int | None, seed: int) -> tuple[Sample, ...]:
    """At most `limit` samples (>= 1; None for all), in their original order.

    Every stratum gets its proportional share by largest remainder, and at least one sample if the limit allows it. The
    choice depends on the ids, the strata and the seed, not on the order of `samples`.
    """
    if limit is None or limit >= len(samples):
        return tuple(samples)
    chosen = {sample.id for sample in _choose(samples, limit, seed, _STRATA)}
    return tuple(sample for sample in samples if sample.id in chosen)


def allocate(sizes: Mapping[str, int], limit: int, seed: int) -> dict[str, int]:
    """How many of `limit` each stratum gets: in proportion to `sizes`, by largest remainder, never more than its size.

    Each gets at least one if `limit` suffices; otherwise the largest get one each. Ties are broken by `seed`. `limit`
    must not exceed the sum of `sizes`.
    """
    if limit <= len(sizes):
        first = sorted(sizes, key=lambda name: (-sizes[name], draw(seed, name)))[:limit]
        return {name: int(name in first) for name in sizes}
    total = sum(sizes.values())
    wanted = {name: size * limit / total for name, size in sizes.items()}
    shares = {name: max(1, int(want)) for name, want in wanted.items()}
    while sum(shares.values()) < limit:
        open_strata = [name for name in sizes if shares[name] < sizes[name]]
        shares[max(open_strata, key=lambda name: (wanted[name] - shares[name], draw(seed, name)))] += 1
    while sum(shares.values()) > limit:
        reducible = [name for name in sizes if shares[name] > 1]
        shares[min(reducible, key=lambda name: (wanted[name] - shares[name], -shares[name], draw(seed, name)))] -= 1
    return shares


def _choose(
    samples: Sequence[Sample], limit: int, seed: int, strata: Sequence[Callable[[Sample], str]]
) -> list[Sample]:
    if not strata:
        return sorted(samples, key=lambda sample: draw(seed, sample.id))[:limit]
    members: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        members[strata[0](sample)].append(sample)
    shares = allocate({name: len(group) for name, group in members.items()}, limit, seed)
    return [sample for name, group in members.items() for sample in _choose(group, shares[name], seed, strata[1:])]


def draw(seed: int, name: str) -> str:
    """A random-looking text for `name`, the same on every machine; the smallest are drawn."""
    return hashlib.sha256(f"{seed}\0{name}".encode()).hexdigest()
