"""Opens and drops very many handles, and reports the growth of memory and file handles.

    python python/tests/endurance.py [--handles 100000]

Beside opens it drops iterators, scans and feeds half-way, snapshots, batches and transactions
without an end, and raises exceptions in callbacks. Run it also under valgrind or with a library
built for AddressSanitizer; it is no part of the daily tests, because it takes minutes.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile

import foldb


def memory():
    """Returns the resident bytes of this process."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def files():
    return len(os.listdir("/proc/self/fd"))


def opens(path, handles):
    for _ in range(handles):
        foldb.open(path, merge_operator="int64add").close()


def reads(path, handles):
    for _ in range(handles):
        foldb.open(path, read_only=True).close()


def half_way(db, handles):
    for _ in range(handles):
        next(db.items())
        next(reversed(db))
        next(db.scan(batch_rows=2))
        db.snapshot().get(b"1")
        db.keyspace("other")
        db.batch().put(b"x", 1)
        db.transaction().put(b"x", 1)
        db.counters()[b"1"]


def raising(db, handles):
    def fail(*_):
        raise RuntimeError("no")

    for _ in range(handles):
        for call in (
            lambda: db.transact(fail),
            lambda: db.put_many(map(fail, [b"1"]), 1),
            lambda: db["text"],
            lambda: db.merge(b"1", "text"),
            lambda: db[b"absent"],
        ):
            try:
                call()
            except (RuntimeError, TypeError, KeyError):
                pass


def failing_operator(path, handles):
    def fail(key, value, operands):
        raise ValueError("no")

    operator = foldb.MergeOperator("app.fails", fail)
    with foldb.open(path, merge_operator=operator) as db:
        db.merge(b"a", b"1")
        for _ in range(handles):
            try:
                db.get(b"a")
            except foldb.MergeFailed:
                pass


def measured(name, run, handles):
    run(max(handles // 10, 1))
    gc.collect()
    before, open_files = memory(), files()
    run(handles)
    gc.collect()
    grown = memory() - before
    print(f"{name}: {handles} rounds, {grown / 1024:+.0f} KiB, {files() - open_files:+} files")
    sys.stdout.flush()
    return grown, files() - open_files


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--handles", type=int, default=100_000)
    handles = parser.parse_args().handles
    with tempfile.TemporaryDirectory() as path:
        database = os.path.join(path, "db")
        with foldb.open(database, merge_operator="int64add") as db:
            db.put_many([b"%d" % number for number in range(100)], 1)
            found = [
                measured("dropped half-way", lambda count: half_way(db, count), handles),
                measured("exceptions", lambda count: raising(db, count), handles),
            ]
        operator = os.path.join(path, "operator")
        found += [
            measured("a callback raises", lambda count: failing_operator(operator, count), handles),
            measured("opened to read", lambda count: reads(database, count), handles),
            measured("opened to write", lambda count: opens(database, count), handles),
        ]
    if any(grown > 8 << 20 or opened > 8 for grown, opened in found):
        sys.exit("memory or files leaked")


if __name__ == "__main__":
    main()
