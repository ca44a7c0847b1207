"""What every component has, and what some can check ahead."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from components.records import Sample

EmbedderState = Mapping[str, NDArray[np.float32]]
"""What an embedder or an index learned from a corpus, as named arrays that the store can keep."""


Arrays = Mapping[str, NDArray[np.generic]]


@runtime_checkable
class Component(Protocol):
    """What every component has."""

    version: ClassVar[int]


@runtime_checkable
class ChecksSamples(Protocol):
    """A component that not every data set suits."""

    def check_samples(self, samples: Sequence[Sample]) -> list[str]:
        """What is wrong with it for these samples, all of a data set: told before any work begins."""


@runtime_checkable
class ChecksMetadata(Protocol):
    """A component that reads what the metadata of documents say under some names."""

    def check_metadata(self, names: Sequence[str], samples: Sequence[Sample]) -> list[str]:
        """What is wrong with it for these samples and for documents that have these names among their metadata, one or
        another: told before any work begins. A chunk may have facts of its own besides, such as its section.
        """
