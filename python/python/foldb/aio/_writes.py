"""Batches and transactions."""

# The types stand in the stub of the package.
# mypy: ignore-errors

from __future__ import annotations

from foldb import _foldb
from foldb.aio._iterators import Entries
from foldb.aio._threads import Handle, NotBegun, Serial, awaited, plain


class Batch(Handle):
    """Writes that happen together, or not at all: `async with db.batch() as batch`.

    Adding writes does not wait. The batch is written at the end of the block. An exception that
    leaves the block drops it.
    """

    __slots__ = ()

    def put(self, key, value, *, keyspace=None, ttl=None):
        """Sets the value of a key."""
        self._own.put(key, value, keyspace=plain(keyspace), ttl=ttl)

    def delete(self, key, *, keyspace=None):
        """Deletes a key."""
        self._own.delete(key, keyspace=plain(keyspace))

    def delete_range(self, start=None, stop=None, *, prefix=None, keyspace=None):
        """Deletes the keys of a range."""
        self._own.delete_range(start, stop, prefix=prefix, keyspace=plain(keyspace))

    def merge(self, key, operand, *, operator=None, keyspace=None, ttl=None):
        """Merges an operand into the value of a key."""
        self._own.merge(key, operand, operator=operator, keyspace=plain(keyspace), ttl=ttl)

    def __setitem__(self, key, value):
        self._own[key] = value

    def __delitem__(self, key):
        del self._own[key]

    def __len__(self):
        return len(self._own)

    @property
    def byte_len(self):
        """The bytes of the batch, as the log takes them."""
        return self._own.byte_len

    def clear(self):
        """Forgets all writes of the batch."""
        self._own.clear()

    async def write(self):
        """Writes the batch, and empties it."""
        await self._run(self._own.write)

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, _error, _trace):
        if kind is None:
            await self.write()
        else:
            self._own.clear()


@awaited(
    _foldb.Transaction,
    *("get", "get_for_update", "put", "delete", "delete_range", "merge", "commit", "rollback"),
)
class Transaction(Serial):
    """Reads and writes that happen at one moment, or not at all.

    `async with db.transaction() as tx` commits at the end of the block, and an exception that
    leaves the block drops it. The commit raises `Conflict` if another write changed what was read.
    """

    __slots__ = ("_begin",)

    def __init__(self, home, begin):
        super().__init__(home, NotBegun())
        self._begin = begin

    async def contains(self, key):
        """Returns whether there is an entry with this key."""
        return await self._run(self._own.__contains__, key)

    def items(self, *args, **named):
        """Iterates over the entries of a range, as `items` of a keyspace does."""
        return Entries(self._home, self._own.items, args, named, self._lock)

    async def __aenter__(self):
        self._own = await self._run(self._begin)
        return self

    async def __aexit__(self, kind, error, trace):
        # A closed database has dropped the transaction, and the exception of the block goes on.
        if kind is None or not self._home.is_closed:
            await self._run(self._own.__exit__, kind, error, trace)
