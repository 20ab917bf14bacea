"""Sets, lists and sketches whose changes never read."""

from __future__ import annotations

from typing import Any, Generic, Iterable, Iterator, List, Set, Tuple, TypeVar

from foldb import _foldb

Value = TypeVar("Value")


def of_operator(face: object, keyspace: _foldb.Keyspace, operator: str) -> None:
    """Raises `InvalidArgument` if a keyspace has another operator."""
    found = keyspace.merge_operator
    if found is None or found.split(":")[0] != operator:
        from foldb.errors import InvalidArgument

        raise InvalidArgument(
            f'a {type(face).__name__} needs a keyspace with merge_operator="{operator}", '
            f"and this one has {found!r}"
        )


class _Bags(_foldb.Bag, Generic[Value]):
    """Values with meaning over a keyspace. Subclasses say how a value is read."""

    def __init__(self, keyspace: _foldb.Keyspace, operator: str) -> None:
        of_operator(self, keyspace, operator)

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

    add = _foldb.Bag._add
    add_many = _foldb.Bag._add_many

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

    append = _foldb.Bag._add
    extend = _foldb.Bag._add_all
    append_many = _foldb.Bag._add_many


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

    add = _foldb.Bag._add_each
    update = _foldb.Bag._add_all
    add_many = _foldb.Bag._add_many
