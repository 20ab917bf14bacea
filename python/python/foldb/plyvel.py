"""The interface of plyvel 1.5 over foldb: `import foldb.plyvel as plyvel`.

What differs:

- The files are those of foldb. `foldb import` copies a LevelDB database.
- A `comparator` that raises makes the call raise. LevelDB would go on with a wrong order.
- `paranoid_checks`, `max_open_files`, `block_restart_interval`, `max_file_size`,
  `verify_checksums` and `fill_cache` are accepted, and change nothing. Blocks are always verified.
- `get_property` knows `leveldb.stats`, `leveldb.sstables`, `leveldb.num-files-at-levelN` and
  `leveldb.approximate-memory-usage`.
- A close from another thread is safe: calls then raise `RuntimeError`. An iterator over a snapshot
  raises it too when the snapshot was closed.
- Errors are those of `foldb`, below `Error`, `IOError` and `CorruptionError`: a missing database is
  a `foldb.DatabaseMissing`, and an option out of its range a `ValueError`.
- `approximate_size` counts what is in memory too, and that of a batch is the size in the log.
- `repair_db` of a directory without a database raises.
"""

from __future__ import annotations

import os
from typing import Any, Callable, List, Optional, Tuple

import foldb
from foldb._foldb import Entries
from foldb._plyvel_cursor import IteratorInvalidError, RawIterator
from foldb._plyvel_options import bytes_of, comparator_of, options_of
from foldb.errors import Closed, Corruption, Error, Io

__leveldb_version__ = "1.23"
__version__ = "1.5.1"

Iterator = Entries
IOError = Io
CorruptionError = Corruption


class _Reads:
    """What a database, a snapshot, and those with a prefix have in common."""

    __slots__ = ("_get", "_prefix", "_reader")

    _reader: foldb.Reader
    _prefix: bytes
    _get: Callable[..., Any]

    def get(
        self,
        key: Any,
        default: Any = None,
        *,
        verify_checksums: bool = False,
        fill_cache: bool = True,
    ) -> Any:
        """Returns the value of a key, or `default`."""
        if self._prefix:
            key = self._prefix + bytes(bytes_of("key", key))
        return self._get(key, default)

    def iterator(
        self,
        *,
        reverse: bool = False,
        start: Any = None,
        stop: Any = None,
        include_start: bool = True,
        include_stop: bool = False,
        prefix: Any = None,
        include_key: bool = True,
        include_value: bool = True,
        verify_checksums: bool = False,
        fill_cache: bool = True,
    ) -> Entries:
        """Returns an iterator over the entries of a range."""
        front = self._prefix
        if prefix is not None:
            if start is not None or stop is not None:
                raise TypeError("prefix: it cannot be used together with start or stop")
            start = front + bytes(bytes_of("prefix", prefix))
            stop = _successor(start)
            include_start, include_stop = True, False
        else:
            if start is not None:
                start = front + bytes(bytes_of("start", start))
            if stop is not None:
                stop = front + bytes(bytes_of("stop", stop))
        return self._reader._entries(
            front, start, stop, include_start, include_stop, reverse, include_key, include_value
        )

    def __iter__(self) -> Entries:
        return self.iterator()


def _successor(prefix: bytes) -> Optional[bytes]:
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None


class _RawReads(_Reads):
    """What has raw iterators: they know no prefix."""

    __slots__ = ()

    def raw_iterator(self, *, verify_checksums: bool = False, fill_cache: bool = True) -> RawIterator:
        """Returns an iterator that moves as one of LevelDB."""
        return RawIterator(self._reader._cursor())


class DB(_RawReads):
    """A database, with the interface of `plyvel.DB`."""

    __slots__ = ("_db", "_delete", "_name", "_put", "__weakref__")

    def __init__(
        self,
        name: Any,
        *,
        create_if_missing: bool = False,
        error_if_exists: bool = False,
        paranoid_checks: Any = None,
        write_buffer_size: Any = None,
        max_open_files: Any = None,
        lru_cache_size: Any = None,
        block_size: Any = None,
        block_restart_interval: Any = None,
        max_file_size: Any = None,
        compression: Any = "snappy",
        bloom_filter_bits: int = 0,
        comparator: Any = None,
        comparator_name: Any = None,
    ) -> None:
        if not isinstance(name, (bytes, str)) and not hasattr(name, "__fspath__"):
            raise TypeError(f"name: expected a path, not {type(name).__name__}")
        options = options_of(
            paranoid_checks,
            write_buffer_size,
            max_open_files,
            lru_cache_size,
            block_size,
            block_restart_interval,
            max_file_size,
            compression,
            bloom_filter_bits,
            comparator,
            comparator_name,
        )
        self._name = name
        self._prefix = b""
        self._db = foldb.open(
            os.fsdecode(name), create=create_if_missing, error_if_exists=bool(error_if_exists), **options
        )
        self._reader = self._db
        self._get = self._db.get
        self._put = self._db.put
        self._delete = self._db.delete

    @property
    def name(self) -> Any:
        """The directory of the database, as it was given."""
        return self._name

    @property
    def closed(self) -> bool:
        """Whether the database was closed."""
        return self._db.closed

    def close(self) -> None:
        """Closes the database."""
        self._db.close()

    def __repr__(self) -> str:
        return f"<foldb.plyvel.DB with name {self._name!r} at {hex(id(self))}>"

    def __enter__(self) -> DB:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def put(self, key: Any, value: Any, *, sync: bool = False) -> None:
        """Sets the value of a key."""
        if sync:
            self._put(key, value, sync=True)
        else:
            self._put(key, value)

    def delete(self, key: Any, *, sync: bool = False) -> None:
        """Deletes a key."""
        self._delete(key, sync=sync)

    def write_batch(self, *, transaction: bool = False, sync: bool = False) -> WriteBatch:
        """Returns a batch."""
        return WriteBatch(self, b"", transaction, sync)

    def snapshot(self) -> Snapshot:
        """Takes a snapshot."""
        return Snapshot(self._db.snapshot(), b"")

    def prefixed_db(self, prefix: bytes) -> PrefixedDB:
        """Returns a view of the keys with a prefix, without it."""
        return PrefixedDB(self, prefix)

    def compact_range(self, *, start: Any = None, stop: Any = None) -> None:
        """Compacts the tables of a range."""
        self._db.compact(bytes_of("start", start), bytes_of("stop", stop))

    def approximate_size(self, start: Any, stop: Any) -> int:
        """Returns about how many bytes a range takes on disk."""
        return self._db.approximate_size(bytes_of("start", start), bytes_of("stop", stop))

    def approximate_sizes(self, *ranges: Tuple[Any, Any]) -> List[int]:
        """Returns about how many bytes each range takes on disk."""
        return [self.approximate_size(start, stop) for start, stop in ranges]

    def get_property(self, name: bytes) -> Optional[bytes]:
        """Returns a property of the database as text, or `None`."""
        if not isinstance(name, bytes):
            raise TypeError(f"name: expected bytes, not {type(name).__name__}")
        stats = self._db.stats()
        levels = stats["levels"]
        if name == b"leveldb.approximate-memory-usage":
            return b"%d" % stats["memory"]
        at_level = b"leveldb.num-files-at-level"
        if name.startswith(at_level) and name[len(at_level) :].isdigit():
            level = int(name[len(at_level) :])
            return b"%d" % (levels[level]["tables"] if level < len(levels) else 0)
        if name in (b"leveldb.stats", b"leveldb.sstables"):
            rows = ["level tables bytes written"]
            for number, level in enumerate(levels):
                shown = [number, level["tables"], level["bytes"], level["bytes_written"]]
                rows.append(" ".join(map(str, shown)))
            return "\n".join(rows).encode()
        return None


class PrefixedDB(_Reads):
    """The keys of a database that begin with a prefix, without it."""

    __slots__ = ("_db", "__weakref__")

    def __init__(self, db: DB, prefix: bytes) -> None:
        self._db = db
        self._prefix = bytes(bytes_of("prefix", prefix))
        self._reader = db._reader
        self._get = db._get

    @property
    def prefix(self) -> bytes:
        """The prefix of all keys."""
        return self._prefix

    @property
    def db(self) -> DB:
        """The database below."""
        return self._db

    def put(self, key: Any, value: Any, *, sync: bool = False) -> None:
        """Sets the value of a key."""
        self._db.put(self._prefix + bytes(bytes_of("key", key)), value, sync=sync)

    def delete(self, key: Any, *, sync: bool = False) -> None:
        """Deletes a key."""
        self._db.delete(self._prefix + bytes(bytes_of("key", key)), sync=sync)

    def write_batch(self, *, transaction: bool = False, sync: bool = False) -> WriteBatch:
        """Returns a batch."""
        return WriteBatch(self._db, self._prefix, transaction, sync)

    def snapshot(self) -> Snapshot:
        """Takes a snapshot."""
        return Snapshot(self._db._db.snapshot(), self._prefix)

    def prefixed_db(self, prefix: bytes) -> PrefixedDB:
        """Returns a view of the keys with a longer prefix."""
        return PrefixedDB(self._db, self._prefix + bytes(bytes_of("prefix", prefix)))


class Snapshot(_RawReads):
    """A database as it was at one moment."""

    __slots__ = ("_snapshot", "__weakref__")

    def __init__(self, snapshot: foldb.Snapshot, prefix: bytes) -> None:
        self._snapshot = snapshot
        self._reader = snapshot
        self._prefix = prefix
        self._get = snapshot.get

    def close(self) -> None:
        """Lets go of the snapshot."""
        self._snapshot.close()

    release = close

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


class WriteBatch:
    """Writes that happen together. A `with` block writes them, also after an exception, unless the
    batch was made with `transaction=True`."""

    __slots__ = ("_batch", "_db", "_prefix", "_transaction", "__weakref__")

    def __init__(self, db: DB, prefix: bytes, transaction: bool, sync: bool) -> None:
        self._db = db._db
        self._check()
        self._batch = db._db.batch(sync=bool(sync))
        self._prefix = prefix
        self._transaction = transaction

    def _check(self) -> None:
        if self._db.closed:
            raise Closed("the database was closed")

    def _key(self, key: Any) -> Any:
        return self._prefix + bytes(bytes_of("key", key)) if self._prefix else key

    def put(self, key: Any, value: Any) -> None:
        """Sets the value of a key."""
        self._batch.put(self._key(key), value)

    def delete(self, key: Any) -> None:
        """Deletes a key."""
        self._batch.delete(self._key(key))

    def clear(self) -> None:
        """Forgets all writes."""
        self._check()
        self._batch.clear()

    def write(self) -> None:
        """Writes the batch."""
        self._batch.write()

    def append(self, source: WriteBatch) -> None:
        """Adds the writes of another batch."""
        writes = source._batch
        if source is self:
            writes = self._db.batch()
            writes._append(self._batch)
        self._batch._append(writes)

    def approximate_size(self) -> int:
        """Returns about how many bytes the batch takes."""
        return self._batch.byte_len

    def __enter__(self) -> WriteBatch:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is not None and self._transaction:
            self._batch.clear()
        else:
            self._batch.write()


def repair_db(
    name: str,
    *,
    paranoid_checks: Any = None,
    write_buffer_size: Any = None,
    max_open_files: Any = None,
    lru_cache_size: Any = None,
    block_size: Any = None,
    block_restart_interval: Any = None,
    max_file_size: Any = None,
    compression: Any = "snappy",
    bloom_filter_bits: int = 0,
    comparator: Any = None,
    comparator_name: Any = None,
) -> None:
    """Repairs a database that is not open."""
    own = None if comparator is None else comparator_of(comparator, comparator_name)
    foldb.repair(name, comparator=own)


def destroy_db(name: str) -> None:
    """Removes a database that is not open."""
    foldb.destroy(name)


__all__ = [
    "CorruptionError",
    "DB",
    "Error",
    "IOError",
    "Iterator",
    "IteratorInvalidError",
    "PrefixedDB",
    "RawIterator",
    "Snapshot",
    "WriteBatch",
    "destroy_db",
    "repair_db",
]
