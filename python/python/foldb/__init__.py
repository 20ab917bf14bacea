"""An embedded, ordered, crash-safe key-value store whose one idea is merge.

    import foldb
    with foldb.open("visits.db", keys="str", merge_operator="int64add") as db:
        db.counters()["index.html"] += 1

`open` opens a database. The exceptions stand in `foldb.errors`, and here too.
"""

from __future__ import annotations

from collections.abc import Mapping as _Mapping
from collections.abc import MutableMapping as _MutableMapping

from foldb import errors
from foldb._foldb import (
    Backups,
    Batch,
    Database,
    Entries,
    Keyspace,
    Reader,
    Snapshot,
    Transaction,
    Update,
    Updates,
    Write,
    destroy,
    open,
    repair,
    restore,
    verify,
)
from foldb.counters import Counters
from foldb.errors import *  # noqa: F403
from foldb.errors import Error

__version__ = "0.1.0"

_Mapping.register(Reader)
_MutableMapping.register(Keyspace)

__all__ = [
    "Backups",
    "Batch",
    "Counters",
    "Database",
    "Entries",
    "Error",
    "Keyspace",
    "Reader",
    "Snapshot",
    "Transaction",
    "Update",
    "Updates",
    "Write",
    "destroy",
    "errors",
    "open",
    "repair",
    "restore",
    "verify",
]
__all__ += [name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Error) and name != "Error"]
