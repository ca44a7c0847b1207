"""Checks the documents that a filter allows before they are stored. A wrong position would hide other documents."""

import numpy as np

from components.records import AllowedDocuments
from runner.engine.broken_contracts import broken_contract


def checked_allowed(allowed: AllowedDocuments, n_samples: int, n_documents: int, a_filter: object) -> AllowedDocuments:
    """Return `allowed` if it lists valid documents for each sample.

    Raises ComponentError, which names the class of the filter.
    """
    if mistake := _mistake(allowed, n_samples, n_documents):
        raise broken_contract(a_filter, mistake)
    return allowed


def _mistake(allowed: object, n_samples: int, n_documents: int) -> str:
    """Describe a contract violation; "" without one."""
    if not isinstance(allowed, AllowedDocuments):
        return f"returned {type(allowed).__name__}, expected AllowedDocuments"
    group, offsets, document = allowed.group, allowed.offsets, allowed.document
    if not all(
        isinstance(own, np.ndarray) and own.ndim == 1 and own.dtype.kind in "iu" for own in vars(allowed).values()
    ):
        return "returned AllowedDocuments with other columns than integer arrays of one dimension"
    if len(group) != n_samples:
        return f"returned groups of {len(group)} samples, expected one for each of {n_samples}"
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(document) or (np.diff(offsets) < 0).any():
        return f"returned offsets that do not increase from 0 to {len(document)}, the number of documents of all groups"
    for row in np.flatnonzero((group < 0) | (group >= len(offsets) - 1))[:1]:
        return f"sample {row} has the group {group[row]}, expected 0 to {len(offsets) - 2}"
    for row in np.flatnonzero((document < 0) | (document >= n_documents))[:1]:
        return f"allows the document {document[row]}, expected 0 to {n_documents - 1}"
    is_first = np.isin(np.arange(1, len(document)), offsets)
    for row in np.flatnonzero((document[1:] <= document[:-1]) & ~is_first)[:1]:
        return f"allows document {document[row + 1]} after {document[row]}, expected each once and ascending in a group"
    return ""
