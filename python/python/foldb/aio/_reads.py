"""Reads, and snapshots."""

# The types stand in the stub of the package.
# mypy: ignore-errors

from __future__ import annotations

from foldb import _foldb
from foldb.aio._iterators import Entries, Scan
from foldb.aio._threads import Handle, NotBegun, awaited


class _Ranges:
    """Ranges as asynchronous iterators."""

    __slots__ = ()

    def keys(self, *args, **named):
        """Iterates over the keys of a range; see `items`."""
        return Entries(self._home, self._own.keys, args, named)

    def values(self, *args, **named):
        """Iterates over the values of a range; see `items`."""
        return Entries(self._home, self._own.values, args, named)

    def items(self, *args, **named):
        """Iterates over the entries of a range. The arguments are those of `foldb.Keyspace.items`.

        The iterator shows the moment of its first step.
        """
        return Entries(self._home, self._own.items, args, named)

    def range(self, *args, **named):
        """Iterates over the entries of a range: another name of `items`."""
        return Entries(self._home, self._own.range, args, named)

    def scan(self, *args, **named):
        """Iterates over the entries of a range as tables. The arguments are those of
        `foldb.Keyspace.scan`. One table is read at a time.
        """
        return Scan(self._home, self._own.scan, args, named)


@awaited(
    _foldb.Reader,
    *("get", "multi_get", "get_many", "first", "last", "expires_at", "approximate_size", "approximate_count"),
)
class Reader(_Ranges, Handle):
    """Reads the entries of a keyspace, in the order of the keys."""

    __slots__ = ()

    async def contains(self, key):
        """Returns whether there is an entry with this key."""
        return await self._run(self._own.__contains__, key)

    async def count(self):
        """Counts the entries, by reading every key."""
        return await self._run(self._own.__len__)

    def __aiter__(self):
        return self.keys()

    @property
    def blocking(self):
        """The object of `foldb` whose calls these are."""
        return self._own

    def encode_key(self, key):
        """Returns the bytes that the keyspace stores for a key."""
        return self._own.encode_key(key)

    def decode_key(self, key):
        """Returns the key that the keyspace stores as these bytes."""
        return self._own.decode_key(key)

    @property
    def name(self):
        """The name of the keyspace."""
        return self._own.name

    @property
    def schema(self):
        """The stored text of how keys and values are encoded, or `None`."""
        return self._own.schema

    @property
    def merge_operator(self):
        """The operator of merges that name none, or `None`."""
        return self._own.merge_operator


class Snapshot(Reader):
    """A database as it was at one moment: `async with db.snapshot() as snapshot`."""

    __slots__ = ("_begin",)

    def __init__(self, home, begin):
        super().__init__(home, NotBegun())
        self._begin = begin

    async def keyspace(self, keyspace):
        """Reads another keyspace at the moment of the snapshot."""
        return Reader(self._home, await self._run(self._own.keyspace, keyspace))

    async def close(self):
        """Lets go of the moment. Later reads raise `Closed`, those of its iterators too."""
        if not self._home.is_closed:
            await self._run(self._own.close)

    async def __aenter__(self):
        self._own = await self._run(self._begin)
        return self

    async def __aexit__(self, *_exception):
        await self.close()
