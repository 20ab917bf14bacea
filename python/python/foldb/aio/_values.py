"""Values with a meaning."""

# The types stand in the stub of the package.
# mypy: ignore-errors

from __future__ import annotations

from foldb.aio._iterators import Entries
from foldb.aio._threads import Handle, awaited
from foldb.bags import HyperLogLogs as _HyperLogLogs
from foldb.bags import Lists as _Lists
from foldb.bags import Sets as _Sets
from foldb.counters import Counters as _Counters
from foldb.documents import Documents as _Documents
from foldb.summaries import Histograms as _Histograms
from foldb.summaries import Summaries as _Summaries
from foldb.summaries import Tops as _Tops


class _Values(Handle):
    __slots__ = ()

    async def delete(self, key):
        """Deletes a key; it is no error if it is absent."""
        await self._run(self._own.keyspace.delete, key)

    def items(self, *args, **named):
        """Iterates over keys and values; the arguments are those of `Keyspace.items`."""
        return Entries(self._home, self._own.items, args, named)


@awaited(
    _Counters,
    *("add", "add_all", "update", "subtract", "most_common", "top", "total", "copy", "pop"),
    *("setdefault", "clear"),
)
class Counters(_Values):
    """Counts that never read. `counters()` of a keyspace makes it."""

    __slots__ = ()

    async def get(self, key):
        """Returns the count of a key as an int; 0 if it was never counted."""
        return await self._run(self._own.get, key, 0)


class _Bags(_Values):
    __slots__ = ()

    async def get(self, key):
        """Returns the value of a key; an empty one if there is none."""
        return await self._run(self._own.__getitem__, key)


@awaited(_Sets, "add", "add_many", "discard")
class Sets(_Bags):
    """A set of bytes for each key. `sets()` of a keyspace makes it."""

    __slots__ = ()


@awaited(_Lists, "append", "append_many", "extend")
class Lists(_Bags):
    """A list of bytes for each key. `lists()` of a keyspace makes it."""

    __slots__ = ()


@awaited(_HyperLogLogs, "add", "add_many", "update")
class HyperLogLogs(_Bags):
    """About how many different elements each key has seen. `hyperloglogs()` makes it."""

    __slots__ = ()


@awaited(_Summaries, "add", "update")
class Summaries(_Bags):
    """Statistics of ints. `summaries()` of a keyspace makes it."""

    __slots__ = ()


@awaited(_Tops, "add", "update")
class Tops(_Bags):
    """The best items with their scores. `tops()` of a keyspace makes it."""

    __slots__ = ()


@awaited(_Histograms, "add", "update")
class Histograms(_Bags):
    """Histograms of floats. `histograms()` of a keyspace makes it."""

    __slots__ = ()


@awaited(_Documents, "patch")
class Documents(_Values):
    """A JSON value for each key. `json()` of a keyspace makes it."""

    __slots__ = ()

    async def get(self, key, default=None):
        """Returns the document of a key, or `default` if there is none."""
        return await self._run(self._own.get, key, default)

    async def put(self, key, document):
        """Sets the document of a key."""
        await self._run(self._own.__setitem__, key, document)
