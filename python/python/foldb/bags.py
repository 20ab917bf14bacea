"""Sets, lists and sketches whose changes never read."""

from __future__ import annotations

from typing import Any, Generic, Iterable, Iterator, List, Set, Tuple, TypeVar

from foldb import _foldb

Value = TypeVar("Value")


class _Bags(Generic[Value]):
    """Values with meaning over a keyspace. Subclasses say how a value is read."""

    def __init__(self, keyspace: _foldb.Keyspace, operator: str) -> None:
        found = keyspace.merge_operator
        if found is None or found.split(":")[0] != operator:
            from foldb.errors import InvalidArgument

            raise InvalidArgument(
                f'a {type(self).__name__} needs a keyspace with merge_operator="{operator}", '
                f"and this one has {found!r}"
            )
        self.keyspace = keyspace

    def _shown(self, value: bytes) -> Value:
        raise NotImplementedError

    def _empty(self) -> Value:
        raise NotImplementedError

    def __getitem__(self, key: Any) -> Value:
        found = self.keyspace.get(key)
        return self._empty() if found is None else self._shown(found)

    def __delitem__(self, key: Any) -> None:
        del self.keyspace[key]

    def __contains__(self, key: Any) -> bool:
        return key in self.keyspace

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keyspace)

    def __len__(self) -> int:
        return len(self.keyspace)

    def _add_elements(self, keys: Any, elements: Any) -> int:
        operator = self.keyspace.merge_operator or ""
        return _foldb.add_elements(self.keyspace, operator, keys, elements)

    def items(self, *args: Any, **ranges: Any) -> Iterator[Tuple[Any, Value]]:
        """Iterates over keys and values; the arguments are those of `Keyspace.items`."""
        for key, value in self.keyspace.items(*args, **ranges):
            yield key, self._shown(value)


class Sets(_Bags[Set[bytes]]):
    """A set of bytes for each key. `sets()` of a keyspace with `merge_operator="set"` makes it."""

    def __init__(self, keyspace: _foldb.Keyspace) -> None:
        super().__init__(keyspace, "set")

    def _shown(self, value: bytes) -> Set[bytes]:
        return set(_foldb.set_members(value))

    def _empty(self) -> Set[bytes]:
        return set()

    def add(self, key: Any, member: Any) -> None:
        """Adds a member to the set of a key, without reading it."""
        self.keyspace.merge(key, _foldb.set_add(member))

    def add_many(self, keys: Any, members: Any) -> int:
        """Adds a column of members to the sets of a column of keys; see `Keyspace.merge_many`.

        The members of one key become one merge. Returns the number of rows.
        """
        return self._add_elements(keys, members)

    def discard(self, key: Any, member: Any) -> None:
        """Removes a member from the set of a key, without reading it."""
        self.keyspace.merge(key, _foldb.set_remove(member))


class Lists(_Bags[List[bytes]]):
    """A list of bytes for each key, for `merge_operator="list"` or `"listlast:N"`.

    `listlast:N` keeps the last N elements. `lists()` of a keyspace makes it.
    """

    def __init__(self, keyspace: _foldb.Keyspace) -> None:
        found = keyspace.merge_operator or ""
        super().__init__(keyspace, "listlast" if found.startswith("listlast") else "list")

    def _shown(self, value: bytes) -> List[bytes]:
        return _foldb.list_elements(value)

    def _empty(self) -> List[bytes]:
        return []

    def append(self, key: Any, element: Any) -> None:
        """Appends an element to the list of a key, without reading it."""
        self.keyspace.merge(key, _foldb.list_append([element]))

    def extend(self, key: Any, elements: Iterable[Any]) -> None:
        """Appends elements to the list of a key, without reading it."""
        self.keyspace.merge(key, _foldb.list_append(elements))

    def append_many(self, keys: Any, elements: Any) -> int:
        """Appends a column of elements to the lists of a column of keys, in the order of the rows.

        The columns are as in `Keyspace.merge_many`, and the elements of one key become one merge.
        Returns the number of rows.
        """
        return self._add_elements(keys, elements)


class HyperLogLogs(_Bags[float]):
    """About how many different elements each key has seen, for `merge_operator="hyperloglog"`.

    `hyperloglogs()` of a keyspace makes it. The standard error is 0.81 %.
    """

    def __init__(self, keyspace: _foldb.Keyspace) -> None:
        super().__init__(keyspace, "hyperloglog")

    def _shown(self, value: bytes) -> float:
        return _foldb.sketch_estimate(value)

    def _empty(self) -> float:
        return 0.0

    def add(self, key: Any, *elements: Any) -> None:
        """Adds elements to what a key has seen, without reading it: bytes, texts or ints."""
        self.keyspace.merge(key, _foldb.sketch_add(elements))

    def update(self, key: Any, elements: Iterable[Any]) -> None:
        """Adds the elements of an iterable to what a key has seen."""
        self.keyspace.merge(key, _foldb.sketch_add(elements))

    def add_many(self, keys: Any, elements: Any) -> int:
        """Adds a column of elements to what a column of keys has seen; see `Keyspace.merge_many`.

        The elements are bytes, texts or whole numbers, and those of one key become one merge.
        Returns the number of rows.
        """
        return self._add_elements(keys, elements)
