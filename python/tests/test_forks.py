"""What a forked child is refused."""

import os
import subprocess
import sys

import pytest

@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_refused(tmp_path):
    program = """
import foldb, os, sys
db = foldb.open(sys.argv[1])
db[b"a"] = b"1"
items, snapshot, batch = db.items(), db.snapshot(), db.batch()
child = os.fork()
if child == 0:
    for call in (lambda: db[b"a"], lambda: db.put(b"b", b"2"), lambda: list(db), lambda: len(db),
                 lambda: snapshot.get(b"a"), db.transaction, db.flush, db.compact):
        try:
            call()
        except foldb.Forked:
            continue
        os._exit(1)
    del items, snapshot, batch
    os._exit(0)
status = os.waitpid(child, 0)[1]
db[b"c"] = b"3"
assert status == 0, status
assert list(db) == [b"a", b"c"]
"""
    subprocess.run([sys.executable, "-c", program, tmp_path / "db"], check=True, timeout=60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_what_was_made_before_a_fork_is_refused_in_the_child(tmp_path):
    program = """
import foldb, os, sys
db = foldb.open(sys.argv[1], wal_retention_bytes=1 << 20)
db.update({b"%d" % number: b"1" for number in range(10)})
snapshot = db.snapshot()
scan, scans = db.scan(), snapshot.scan(batch_rows=2)
next(scans)
items, old, reverse = db.items(), snapshot.items(), db.keys(reverse=True)
next(items), next(items), next(old)
cursor, tx, batch = db._cursor(), db.transaction(), db.batch()
updates = db.updates(include_unsynced=True)
in_tx = tx.items()
next(updates)
child = os.fork()
if child == 0:
    calls = {
        "next": lambda: next(items), "list": lambda: list(old), "seek": lambda: items.seek(b"1"),
        "reverse": lambda: next(reverse), "prev": lambda: items.prev(), "scan": lambda: next(scan),
        "scans": lambda: next(scans), "cursor": cursor.seek_to_first, "valid": cursor.valid,
        "batch": lambda: batch.put(b"b", b""), "write": batch.write, "tx": lambda: tx.get(b"1"),
        "commit": tx.commit, "in_tx": lambda: next(in_tx),
        "snapshot": db.snapshot, "get": lambda: snapshot.get(b"1"), "updates": lambda: next(updates),
        "close": db.close, "open": lambda: foldb.open(sys.argv[1]),
    }
    wrong = []
    for name, call in calls.items():
        try:
            wrong.append((name, call()))
        except foldb.Forked:
            pass
        except Exception as error:
            wrong.append((name, error))
    print(wrong, flush=True)
    os._exit(0)
os.waitpid(child, 0)
assert len(list(items)) == 8 and next(scan) is not None and cursor.seek_to_first()
"""
    ran = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "db"], capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    # The parent holds the lock.
    assert ran.stdout.startswith("[('open', Locked"), ran.stdout
