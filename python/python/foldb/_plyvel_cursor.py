"""The raw iterator of `foldb.plyvel`."""

from __future__ import annotations

from typing import Any, Tuple

from foldb._foldb import Cursor
from foldb.errors import Error


class IteratorInvalidError(Error):
    """A `RawIterator` stands on no entry."""


class RawIterator:
    """An iterator that moves as one of LevelDB."""

    __slots__ = ("_cursor", "__weakref__")

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor

    def valid(self) -> bool:
        """Whether the iterator stands on an entry."""
        return self._cursor.valid()

    def seek_to_first(self) -> None:
        """Moves to the first entry."""
        self._cursor.seek_to_first()

    def seek_to_last(self) -> None:
        """Moves to the last entry."""
        self._cursor.seek_to_last()

    def seek(self, target: Any) -> None:
        """Moves to the first entry whose key is not less than `target`."""
        self._cursor.seek(target)

    def next(self) -> None:
        """Moves to the next entry."""
        self._check()
        self._cursor.next()

    def prev(self) -> None:
        """Moves to the entry before."""
        self._check()
        self._cursor.prev()

    def key(self) -> bytes:
        """Returns the key."""
        self._check()
        key = self._cursor.key()
        assert key is not None
        return key

    def value(self) -> bytes:
        """Returns the value."""
        self._check()
        value = self._cursor.value()
        assert value is not None
        return value

    def item(self) -> Tuple[bytes, bytes]:
        """Returns the key and the value."""
        return self.key(), self.value()

    def _check(self) -> None:
        if not self._cursor.valid():
            raise IteratorInvalidError("the iterator stands on no entry")

    def close(self) -> None:
        """Lets go of what the iterator holds."""
        self._cursor.close()

    def __enter__(self) -> RawIterator:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()
