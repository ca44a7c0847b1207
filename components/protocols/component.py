"""Members that all components share, and checks that run before any work."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from components.records import Sample

EmbedderState = Mapping[str, NDArray[np.float32]]
"""State that an embedder or an index learned from a corpus, as named arrays for the store."""


Arrays = Mapping[str, NDArray[np.generic]]


@runtime_checkable
class Component(Protocol):
    """The members that every component has."""

    version: ClassVar[int]


@runtime_checkable
class ChecksSamples(Protocol):
    """A component that does not support every data set."""

    def check_samples(self, samples: Sequence[Sample]) -> list[str]:
        """Return one message per error, [] if it supports these samples. It gets all samples of a data set, before any
        work begins.
        """


@runtime_checkable
class ChecksMetadata(Protocol):
    """A component that reads metadata of documents by name."""

    def check_metadata(self, names: Sequence[str], samples: Sequence[Sample]) -> list[str]:
        """Return one message per error, [] if it supports these samples and metadata. It is called before any work.

        `names` are the metadata names that at least one document has. A chunk may have further facts, such as its
        section.
        """
