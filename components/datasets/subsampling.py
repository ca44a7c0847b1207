"""Smaller parts of samples and of corpora for quick runs."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from components.records import Documents, Sample

_STRATA: tuple[Callable[[Sample], str], ...] = (
    lambda sample: sample.subset,
    lambda sample: f"{sample.topic}/{sample.task}",
)
"""The limit is divided among subsets first, and within each among the matrix fields."""


def limit_problems(limit: int | None, max_documents: int | None) -> list[str]:
    """Return one message per error in the two limits of a data set."""
    limits = {"limit": (limit, "samples"), "max_documents": (max_documents, "documents")}
    return [
        f"{name}: got {value}, expected at least 1, or null for all {what}"
        for name, (value, what) in limits.items()
        if value is not None and value < 1
    ]


def limit_samples(samples: Sequence[Sample], limit: int | None, seed: int) -> tuple[Sample, ...]:
    """Return at most `limit` samples (>= 1; None for all), in their original order.

    Every stratum gets its proportional share by largest remainder, and at least one sample if the limit allows it. The
    choice depends on the ids, the strata and the seed, not on the order of `samples`.
    """
    if limit is None or limit >= len(samples):
        return tuple(samples)
    chosen = {sample.id for sample in _choose(samples, limit, seed, _STRATA)}
    return tuple(sample for sample in samples if sample.id in chosen)


def limit_documents(documents: Documents, samples: Sequence[Sample], max_documents: int | None, seed: int) -> Documents:
    """Return at most `max_documents` documents (None for all), in their order.

    Documents that the samples name, as gold or as passages, are always kept, even if they are more than
    `max_documents`. The others are drawn one by one by `seed`, so that a smaller corpus is part of a larger one. Of
    several corpora side by side (see `Sample.corpus_prefix`), each gets its proportional share.
    """
    if max_documents is None or max_documents >= len(documents):
        return documents
    named = {unit.document_id for sample in samples for unit in sample.gold}
    named |= {passage for sample in samples for passage in sample.passages}
    chosen = {document_id for document_id in documents.ids if document_id in named}
    prefixes = sorted({sample.corpus_prefix for sample in samples}, key=len, reverse=True)
    others: dict[str, list[str]] = {}
    for document_id in documents.ids:
        prefix = next((prefix for prefix in prefixes if document_id.startswith(prefix)), None)
        if document_id not in chosen and prefix is not None:
            others.setdefault(prefix, []).append(document_id)
    n_others = min(max(max_documents - len(chosen), 0), sum(map(len, others.values())))
    if n_others:
        shares = allocate({prefix: len(ids) for prefix, ids in others.items()}, n_others, seed)
        for prefix, n in shares.items():
            chosen.update(sorted(others[prefix], key=lambda document_id: draw(seed, document_id))[:n])
    return documents.at([row for row, document_id in enumerate(documents.ids) if document_id in chosen])


def allocate(sizes: Mapping[str, int], limit: int, seed: int) -> dict[str, int]:
    """Divide `limit` among strata in proportion to their `sizes`, by largest remainder.

    No stratum gets more than its size. Each gets at least one if `limit` suffices; otherwise the largest strata get one
    each. `seed` breaks ties. `limit` must not exceed the sum of `sizes`.
    """
    if limit <= len(sizes):
        first = sorted(sizes, key=lambda name: (-sizes[name], draw(seed, name)))[:limit]
        return {name: int(name in first) for name in sizes}
    total = sum(sizes.values())
    exact = {name: size * limit / total for name, size in sizes.items()}
    shares = {name: max(1, int(share)) for name, share in exact.items()}
    while sum(shares.values()) < limit:
        open_strata = [name for name in sizes if shares[name] < sizes[name]]
        shares[max(open_strata, key=lambda name: (exact[name] - shares[name], draw(seed, name)))] += 1
    while sum(shares.values()) > limit:
        reducible = [name for name in sizes if shares[name] > 1]
        shares[min(reducible, key=lambda name: (exact[name] - shares[name], -shares[name], draw(seed, name)))] -= 1
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
    """Return a pseudo-random string for `name`, the same on every machine. The smallest strings are drawn."""
    return hashlib.sha256(f"{seed}\0{name}".encode()).hexdigest()
