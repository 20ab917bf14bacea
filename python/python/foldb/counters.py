"""Counts that never read: `counts[key] += 1`."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from foldb import _foldb

# The module typing would make half of the time of `import foldb`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

#: How many elements of an iterable are counted before their counts are merged.
_AT_ONCE = 1_000_000

#: What columns of NumPy and Arrow have.
_COLUMNS = ("dtype", "__arrow_c_stream__", "__arrow_c_array__")


class Counters(_foldb.Counters):
    """The counts of a keyspace whose operator is `int64add`. `counters()` of a keyspace makes it.

    `counts[key] += amount` and `add` merge the amount: they read nothing. `counts[key]` behaves
    like an int, and reads the count when its number is used; `int(counts[key])` and `get` return
    an int. A key that was never counted counts 0.
    """

    def update(self, counted: Iterable[Any] = (), /, **amounts: int) -> None:
        """Counts the elements of an iterable, or adds the numbers of a mapping.

        An array of NumPy and a column of Arrow (also of polars or pandas) are counted without an
        object of Python for each element.
        """
        if any(hasattr(counted, column) for column in _COLUMNS):
            self.keyspace.merge_many(counted, 1)
        elif isinstance(counted, Mapping):
            self.add_all(dict(counted))
        else:
            from collections import Counter

            elements = iter(counted)
            while part := Counter(islice(elements, _AT_ONCE)):
                self.add_all(part)
        if amounts:
            self.add_all(amounts)

    def subtract(self, counted: Iterable[Any] = (), /) -> None:
        """Takes the elements of an iterable, or the numbers of a mapping, away."""
        from collections import Counter

        amounts = counted if isinstance(counted, Mapping) else Counter(counted)
        self.add_all({key: -amount for key, amount in amounts.items()})

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keyspace)

    def keys(self, *args: Any, **ranges: Any) -> Iterator[Any]:
        """Iterates over the keys of a range; the arguments are those of `Keyspace.keys`."""
        return self.keyspace.keys(*args, **ranges)

    def items(self, *args: Any, **ranges: Any) -> Iterator[tuple[Any, int]]:
        """Iterates over keys and counts; the arguments are those of `Keyspace.items`."""
        for key, value in self.keyspace.items(*args, **ranges):
            yield key, int.from_bytes(value, "little", signed=True)

    def total(self) -> int:
        """Returns the sum of all counts."""
        return sum(count for _, count in self.items())
