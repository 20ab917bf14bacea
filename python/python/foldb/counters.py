"""Counts that never read: `counts[key] += 1`."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from foldb import _foldb
from foldb.errors import Corruption

# The module typing would make half of the time of `import foldb`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator
    from typing import Any

#: How many elements of an iterable are counted before their counts are merged.
_AT_ONCE = 1_000_000

#: What columns of NumPy and Arrow have.
_COLUMNS = ("dtype", "__arrow_c_stream__", "__arrow_c_array__")


def _number(key: Any, value: bytes) -> int:
    if len(value) != 8:
        raise Corruption(f"a count has 8 bytes, and the value of key {key!r} has {len(value)}")
    return int.from_bytes(value, "little", signed=True)


class Counters(_foldb.Counters):
    """The counts of a keyspace whose operator is `int64add`. `counters()` of a keyspace makes it.

    `counts[key] += amount` and `add` merge the amount: they read nothing. `counts[key]` behaves
    like an int, and reads the count each time its number is used. `int(counts[key])` and `get`
    return an int, which stays as it is. A key that was never counted counts 0.

    It is a mapping for reading: `copy` returns the counts of one moment as a `Counter` of ints.
    `dict(counts)` has no ints, but what `counts[key]` returns: take `dict(counts.items())`.
    """

    def update(self, counted: Iterable[Any] = (), /, **amounts: int) -> None:
        """Counts the elements of an iterable, or adds the numbers of a mapping.

        An array of NumPy and a column of Arrow (also of polars or pandas) are counted without an
        object of Python for each element.
        """
        if any(hasattr(counted, column) for column in _COLUMNS):
            self.keyspace.merge_many(counted, 1)
        elif isinstance(counted, Mapping):
            self.add_all(dict(counted.items()))
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

    def __reversed__(self) -> Iterator[Any]:
        return reversed(self.keyspace)

    def keys(self, *args: Any, **ranges: Any) -> Iterator[Any]:
        """Iterates over the keys of a range; the arguments are those of `Keyspace.keys`."""
        return self.keyspace.keys(*args, **ranges)

    def values(self, *args: Any, **ranges: Any) -> Iterator[int]:
        """Iterates over the counts of a range; the arguments are those of `Keyspace.values`."""
        for _, count in self.items(*args, **ranges):
            yield count

    def items(self, *args: Any, **ranges: Any) -> Iterator[tuple[Any, int]]:
        """Iterates over keys and counts; the arguments are those of `Keyspace.items`.

        A value that is no count raises `Corruption`.
        """
        for key, value in self.keyspace.items(*args, **ranges):
            yield key, _number(key, value)

    def copy(self) -> Counter[Any]:
        """Returns the counts of this moment as a `collections.Counter`."""
        from collections import Counter

        return Counter(dict(self.items()))

    def total(self) -> int:
        """Returns the sum of all counts."""
        return sum(self.values())

    def pop(self, key: Any, *default: Any) -> Any:
        """Deletes a count and returns it as an int; `default` if the key was never counted."""
        if not default:
            return _number(key, self.keyspace.pop(key))
        found = self.keyspace.pop(key, None, *default[1:])
        return default[0] if found is None else _number(key, found)

    def setdefault(self, key: Any, default: int = 0) -> int:
        """Sets the count of a key that was never counted, and returns the count of the key."""
        return _number(key, self.keyspace.setdefault(key, default))

    def clear(self) -> None:
        """Deletes all counts, and all other values of the keyspace."""
        self.keyspace.clear()

    def __eq__(self, other: object) -> bool:
        """Whether a mapping has the same keys with the same numbers."""
        if self is other:
            return True
        if not isinstance(other, Mapping):
            return NotImplemented
        return dict(self.items()) == dict(other.items())

    __hash__ = None  # type: ignore[assignment]


Mapping.register(Counters)
