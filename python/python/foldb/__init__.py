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
from foldb import _interpreters as _interpreters
from foldb._foldb import (
    Backups,
    Batch,
    Column,
    Comparator,
    Database,
    Entries,
    Keyspace,
    MergeOperator,
    Reader,
    Scan,
    Snapshot,
    Table,
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
from foldb.errors import (
    Aborted,
    Busy,
    Closed,
    ComparatorFailed,
    Conflict,
    Corruption,
    DatabaseExists,
    DatabaseMissing,
    DirectoryLost,
    Error,
    ForeignDatabase,
    Forked,
    InvalidArgument,
    Io,
    KeyspaceDropped,
    KeyspaceExists,
    KeyspaceMissing,
    Locked,
    MergeFailed,
    NoSpace,
    Poisoned,
    PositionLost,
    ReadOnly,
    Reentrant,
    TransactionTooLarge,
    UnknownComparator,
    UnknownOperator,
    Unsupported,
)

__version__ = "0.1.0"

_Mapping.register(Reader)
_MutableMapping.register(Keyspace)

__all__ = [
    "Aborted",
    "Backups",
    "Batch",
    "Busy",
    "Closed",
    "Column",
    "Comparator",
    "ComparatorFailed",
    "Conflict",
    "Corruption",
    "Counters",
    "Database",
    "DatabaseExists",
    "DatabaseMissing",
    "DirectoryLost",
    "Entries",
    "Error",
    "ForeignDatabase",
    "Forked",
    "InvalidArgument",
    "Io",
    "Keyspace",
    "KeyspaceDropped",
    "KeyspaceExists",
    "KeyspaceMissing",
    "Locked",
    "MergeFailed",
    "MergeOperator",
    "NoSpace",
    "Poisoned",
    "PositionLost",
    "ReadOnly",
    "Reader",
    "Reentrant",
    "Scan",
    "Snapshot",
    "Table",
    "Transaction",
    "TransactionTooLarge",
    "UnknownComparator",
    "UnknownOperator",
    "Unsupported",
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
