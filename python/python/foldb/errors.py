"""The exceptions of foldb: one for each kind of error, all below `Error`."""

from __future__ import annotations


class Error(Exception):
    """Any error of foldb.

    `kind` is the name of the kind. `path` is the file that the error is about, and `key` the key
    whose operands could not be folded, if there is one.
    """

    kind: str = "Error"
    path: str | None = None
    key: bytes | None = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.kind = cls.__name__


class InvalidArgument(Error, ValueError):
    """The call itself is wrong: bad options, a malformed operand, or a merge without an operator."""


class DatabaseMissing(Error):
    """The directory holds no database, and `create` is off."""


class DatabaseExists(Error):
    """The directory already holds a database, and `error_if_exists` is on."""


class ForeignDatabase(Error):
    """The directory holds a database of LevelDB or RocksDB. `foldb import` imports it."""


class Io(Error, OSError):
    """A call of the operating system failed. `errno` and `filename` are set if they are known."""

    def __str__(self) -> str:
        return Exception.__str__(self)


class Locked(Io):
    """Another process, or another handle in this process, has the database open."""


class UnknownOperator(Error):
    """The database uses an operator that the open did not bring."""


class UnknownComparator(Error):
    """A keyspace uses a comparator that the open did not bring."""


class KeyspaceMissing(Error, LookupError):
    """No keyspace has that name."""


class KeyspaceExists(Error):
    """A keyspace of that name already exists."""


class KeyspaceDropped(Error):
    """The keyspace was dropped after this handle was made."""


class MergeFailed(Error):
    """The operator rejected the operands of a key. Only reads of this key are affected."""


class ComparatorFailed(Error):
    """The comparator of a keyspace contradicted itself."""


class Corruption(Error):
    """Bytes on disk are not the bytes that were written."""


class Unsupported(Error):
    """This build does not know the format of a file, or a requested codec."""


class NoSpace(Io):
    """The disk is full. The database goes on by itself when there is space."""


class Poisoned(Error):
    """An earlier sync failed. Open the database again."""


class ReadOnly(Error):
    """The database was opened with `read_only=True`, or the handle only reads."""


class Closed(Error, RuntimeError):
    """The database, snapshot, transaction or iterator was closed."""


class Busy(Error):
    """The write would have waited longer than allowed. Nothing was written."""


class Conflict(Error):
    """Another write changed what this transaction read. Run it again, or use `transact`."""


class TransactionTooLarge(Error):
    """The transaction holds more writes than one batch may."""


class Aborted(Error):
    """The program gave up its transaction."""


class Forked(Error, RuntimeError):
    """This process is a fork of the one that opened the database. Open it after the fork."""


class Reentrant(Error, RuntimeError):
    """Code that the engine runs made a call that would wait for itself."""


class DirectoryLost(Io):
    """The directory of the open database was moved or removed."""


class PositionLost(Error):
    """The change feed cannot continue at this position. Copy the database anew."""
