"""The database, and how it is opened."""

# The types stand in the stub of the package.
# mypy: ignore-errors

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor

import foldb
from foldb import _foldb
from foldb.aio._iterators import Updates
from foldb.aio._reads import Reader, Snapshot
from foldb.aio._threads import Home, awaited, to_the_end
from foldb.aio._values import (
    Counters,
    Documents,
    Histograms,
    HyperLogLogs,
    Lists,
    Sets,
    Summaries,
    Tops,
)
from foldb.aio._writes import Batch, Transaction


@awaited(
    _foldb.Keyspace,
    *("put", "delete", "merge", "delete_range", "clear", "pop", "popitem", "take_first"),
    *("put_many", "merge_many", "load"),
    *("setdefault", "update", "put_if_absent", "compare_and_swap", "merge_get", "touch", "expire"),
)
class Keyspace(Reader):
    """A keyspace: an ordered map from keys to values."""

    __slots__ = ()

    def batch(self, *, sync=None):
        """Returns a batch: writes that happen together, or not at all."""
        return Batch(self._home, self._own.batch(sync=sync))

    def counters(self):
        """Returns the counts of this keyspace; its operator is `int64add`."""
        return Counters(self._home, self._own.counters())

    def sets(self):
        """Returns the sets of this keyspace; its operator is `set`."""
        return Sets(self._home, self._own.sets())

    def lists(self, *, last=None):
        """Returns the lists of this keyspace; its operator is `list` or `listlast:N`."""
        return Lists(self._home, self._own.lists(last=last))

    def hyperloglogs(self):
        """Returns the sketches of this keyspace; its operator is `hyperloglog`."""
        return HyperLogLogs(self._home, self._own.hyperloglogs())

    def summaries(self):
        """Returns the statistics of this keyspace; its operator is `stats`."""
        return Summaries(self._home, self._own.summaries())

    def tops(self):
        """Returns the best items of this keyspace; its operator is `top:K`."""
        return Tops(self._home, self._own.tops())

    def histograms(self):
        """Returns the histograms of this keyspace; its operator is `histogram:PERCENT`."""
        return Histograms(self._home, self._own.histograms())

    def json(self):
        """Returns the documents of this keyspace; its operator is `json_merge_patch`."""
        return Documents(self._home, self._own.json())


@awaited(
    _foldb.Database,
    *("keyspaces", "drop_keyspace", "position", "flush", "sync", "compact", "collect_garbage"),
    *("verify", "checkpoint", "dump", "stats"),
)
class Database(Keyspace):
    """A database, and its keyspace `default`. `foldb.aio.open` makes it."""

    __slots__ = ()

    @property
    def path(self):
        """The directory of the database."""
        return self._own.path

    @property
    def closed(self):
        """Whether the database was closed through this handle."""
        return self._home.is_closed or self._own.closed

    @property
    def read_only(self):
        """Whether the database was opened with `read_only=True`."""
        return self._own.read_only

    async def close(self):
        """Closes the database, and ends its threads. A second close waits for the first one."""
        self._home.is_closed = True
        future, cancelled = await to_the_end(self._home.shut)
        future.result()
        if cancelled is not None:
            raise cancelled

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_exception):
        await self.close()

    async def keyspace(self, name, **named):
        """Opens a keyspace. The arguments are those of `foldb.Database.keyspace`."""
        return Keyspace(self._home, await self._run(self._own.keyspace, name, **named))

    def snapshot(self):
        """Takes a snapshot, in an `async with` block: keeps the state of its begin readable."""
        return Snapshot(self._home, self._own.snapshot)

    def transaction(self, *, isolation="serializable", sync=None):
        """Begins a transaction in an `async with` block, and commits it at the end."""
        begin = functools.partial(self._own.transaction, isolation=isolation, sync=sync)
        return Transaction(self._home, begin)

    async def transact(self, work, *, isolation="serializable", attempts=100, sync=None):
        """Calls `work` with a `foldb.Transaction` on a thread, and commits it; after a conflict,
        again. Returns what `work` returned. A cancelled one commits nothing that it has not begun
        to commit.
        """
        if not callable(work) or inspect.iscoroutinefunction(work):
            raise TypeError("work: expected a plain function, which runs on a thread")
        context, is_cancelled = contextvars.copy_context(), threading.Event()

        def guarded(transaction):
            result = None if is_cancelled.is_set() else context.run(work, transaction)
            if is_cancelled.is_set():
                raise foldb.Aborted("the task was cancelled")
            return result

        options = {"isolation": isolation, "attempts": attempts, "sync": sync}
        try:
            return await self._run(self._own.transact, guarded, **options)
        except asyncio.CancelledError:
            is_cancelled.set()
            raise

    def updates(self, since=None, *, include_unsynced=False, follow=True):
        """Iterates over the updates after a position, as `foldb.Database.updates` does.

        With `follow`, the iterator waits for further updates for ever. Without it, it stops at
        the end.
        """
        begin = functools.partial(self._own.updates, since, include_unsynced=include_unsynced)
        return Updates(self._home, begin, follow)


class _Opening:
    """An open that is awaited, or entered by `async with`."""

    __slots__ = ("_call", "_db", "_threads")

    def __init__(self, call, threads):
        self._call = call
        self._threads = threads

    async def _open(self):
        future, cancelled = await to_the_end(self._call)
        if cancelled is None:
            pool = ThreadPoolExecutor(self._threads, "foldb-aio")
            return Database(Home(future.result(), pool), future.result())
        if future.exception() is None:
            # No caller will ever have this database.
            await to_the_end(future.result().close)
        raise cancelled

    def __await__(self):
        return self._open().__await__()

    async def __aenter__(self):
        self._db = await self._open()
        return self._db

    async def __aexit__(self, *_exception):
        await self._db.close()


def open(path, *, threads=4, **options):
    """Opens a database: `async with foldb.aio.open(path) as db`, or `db = await ...`.

    `threads` is how many calls run at once. The other arguments are those of `foldb.open`.
    """
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ValueError(f"threads: expected at least 1, not {threads!r}")
    return _Opening(functools.partial(foldb.open, path, **options), threads)
