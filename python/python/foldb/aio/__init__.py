"""foldb for asyncio: the calls of `foldb.Database`, to be awaited.

    import foldb.aio
    async with foldb.aio.open("visits.db", keys="str", merge_operator="int64add") as db:
        await db.merge("index.html", 1)
        async for page, visits in db.items():
            ...

Every call that may wait runs on a thread of the database: a read may read the disk, and a write
may wait for the disk or for a flush. Only these never wait, and are plain calls: the properties,
adding to a batch, and making a range, a feed, a transaction or an object such as `db.counters()`.
The way to a thread and back costs far more than a read from memory. So prefer `multi_get`,
batches, `counters().update` and ranges to many single calls.

A cancelled call that has not begun never runs. One that has begun runs to its end on its thread,
and its write may take place. `close` waits for it. So no call outlives the `async with` block.
"""

from __future__ import annotations

from foldb.aio._database import Database, Keyspace, open
from foldb.aio._iterators import Entries, Scan, Updates
from foldb.aio._reads import Reader, Snapshot
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

__all__ = [
    "Batch",
    "Counters",
    "Database",
    "Documents",
    "Entries",
    "Histograms",
    "HyperLogLogs",
    "Keyspace",
    "Lists",
    "Reader",
    "Scan",
    "Sets",
    "Snapshot",
    "Summaries",
    "Tops",
    "Transaction",
    "Updates",
    "open",
]
