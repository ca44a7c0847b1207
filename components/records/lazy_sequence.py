"""A sequence whose items are looked up on access."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class LazySequence(Sequence[T_co]):
    """A sequence whose items may be on disk, or parts of other items. A slice is a list."""

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> list[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | list[T_co]:
        if isinstance(index, slice):
            return [self._item(i) for i in range(*index.indices(len(self)))]
        return self._item(index)

    @abstractmethod
    def _item(self, index: int) -> T_co:
        """Return one item. A negative index counts from the end.

        Raises IndexError for an index outside of the sequence.
        """
