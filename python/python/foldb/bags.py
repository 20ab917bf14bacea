"""Sets, lists and sketches whose changes never read."""

from __future__ import annotations

from typing import Any, FrozenSet, Generic, Iterator, Optional, Tuple, TypeVar

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

    def get(self, key: Any, default: Any = None) -> Any:
        """Returns the value of a key, or `default` if there is none."""
        found = self.keyspace.get(key)
        return default if found is None else self._shown(found)

    def keys(self, *args: Any, **ranges: Any) -> Iterator[Any]:
        """Iterates over the keys of a range; the arguments are those of `Keyspace.keys`."""
        return self.keyspace.keys(*args, **ranges)

    def values(self, *args: Any, **ranges: Any) -> Iterator[Value]:
        """Iterates over the values of a range; the arguments are those of `Keyspace.values`."""
        return map(self._shown, self.keyspace.values(*args, **ranges))

    def items(self, *args: Any, **ranges: Any) -> Iterator[Tuple[Any, Value]]:
        """Iterates over keys and values; the arguments are those of `Keyspace.items`."""
        for key, value in self.keyspace.items(*args, **ranges):
            yield key, self._shown(value)


class Sets(_Bags[FrozenSet[bytes]]):
    """A set of bytes for each key. `sets()` of a keyspace with `merge_operator="set"` makes it.

    `sets[key]` is a frozenset: `add` and `discard` change what is stored.
    """

    def __init__(self, keyspace: _foldb.Keyspace) -> None:
        super().__init__(keyspace, "set")

    def _shown(self, value: bytes) -> FrozenSet[bytes]:
        return _foldb.set_members(value)

    def _empty(self) -> FrozenSet[bytes]:
        return frozenset()

    add = _foldb.Bag._add
    add_many = _foldb.Bag._add_many

    def discard(self, key: Any, member: Any) -> None:
        """Removes a member from the set of a key, without reading it."""
        self.keyspace.merge(key, _foldb.set_remove(member))


class Lists(_Bags[Tuple[bytes, ...]]):
    """A list of bytes for each key, for `merge_operator="list"` or `"listlast:N"`.

    `listlast:N` keeps the last N elements. `lists()` of a keyspace makes it; `lists(last=N)` makes
    sure of N. `lists[key]` is a tuple: `append` and `extend` change what is stored.
    """

    def __init__(self, keyspace: _foldb.Keyspace, last: Optional[int] = None) -> None:
        found = keyspace.merge_operator or ""
        super().__init__(keyspace, "listlast" if found.startswith("listlast") else "list")
        if last is None:
            return
        if not isinstance(last, int) or last < 1:
            raise TypeError(f"last: expected an int from 1, not {last!r}")
        if found != f"listlast:{last}":
            from foldb.errors import InvalidArgument

            raise InvalidArgument(
                f'last: lists(last={last}) needs a keyspace with merge_operator="listlast:{last}", '
                f"and this one has {found!r}: create another keyspace with it"
            )

    def _shown(self, value: bytes) -> Tuple[bytes, ...]:
        return _foldb.list_elements(value)

    def _empty(self) -> Tuple[bytes, ...]:
        return ()

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
