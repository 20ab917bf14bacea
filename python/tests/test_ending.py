"""The end of the interpreter while daemon threads call the engine."""

import subprocess
import sys

import pytest

PROGRAM = """
import foldb, sys, threading, time
db = foldb.open(sys.argv[1], merge_operator="int64add")
def forever():
    number = 0
    while True:
        number += 1
        key = b"%d" % (number % 100)
        db.merge(key, 1); db.get(key); next(db.items(), None); key in db
for _ in range(8):
    threading.Thread(target=forever, daemon=True).start()
time.sleep(0.1)
"""


@pytest.mark.parametrize("attempt", range(8))
def test_daemon_threads_do_not_crash_the_end(tmp_path, attempt):
    """CPython before 3.14 ends a thread that returns to it by unwinding, which aborts Rust."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path / "db"], capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 0 and ended.stderr == ""


def test_a_worker_that_is_joined_at_the_end_does_not_hang(tmp_path):
    program = """
import atexit, sys, threading
ends = threading.Event()
def join():
    ends.set()
    worker.join()
atexit.register(join)
import foldb
db = foldb.open(sys.argv[1])
def work():
    ends.wait()
    db[b"last"] = b"1"
worker = threading.Thread(target=work, daemon=True)
worker.start()
"""
    ended = subprocess.run([sys.executable, "-c", program, tmp_path / "db"], timeout=60)
    assert ended.returncode == 0


#: One object of each kind whose end the engine hears of, by the name of its kind.
KINDS = {
    "database": "db",
    "keyspace": "db.keyspace('other')",
    "snapshot": "db.snapshot()",
    "reader of a snapshot": "db.snapshot().keyspace(db.keyspace('other'))",
    "iterator": "db.items()",
    "iterator that began": "(i := db.items(), next(i))[0]",
    "iterator of a snapshot": "db.snapshot().items()",
    "transaction": "db.transaction()",
    "iterator of a transaction": "(t := db.transaction(), t.put(b'x', 1), t.items())[2]",
    "batch": "(b := db.batch(), b.put(b'x', 1))[0]",
    "updates": "db.updates()",
    "cursor": "db._cursor()",
    "scan": "db.scan()",
    "scan of a snapshot": "db.snapshot().scan()",
    "scan that began": "(s := db.scan(batch_rows=1), next(s))[0]",
    "stream": "db.scan().__arrow_c_stream__()",
    "stream of a snapshot": "db.snapshot().scan().__arrow_c_stream__()",
    "column": "db.get_many([b'a'])",
    "array": "db.get_many([b'a']).__arrow_c_array__()",
    "counters": "db.counters()",
    "count": "db.counters()[b'a']",
    "reader of arrow": "pyarrow.RecordBatchReader.from_stream(db.scan())",
    "reader of arrow that began": "(r := pyarrow.RecordBatchReader.from_stream("
    "db.scan(batch_rows=1)), r.read_next_batch())[0]",
}

LEFT = """
import sys
import foldb
if "arrow" in sys.argv[2]:
    import pyarrow
operator, extra = None, {}
if sys.argv[4] == "operator":
    operator = foldb.MergeOperator("app.last", lambda key, value, operands: operands[-1])
    extra["operators"] = [operator]
db = foldb.open(sys.argv[1], merge_operator="int64add", wal_retention_bytes=1 << 20, **extra)
db.merge(b"a", 1); db.merge(b"b", 1)
if operator:
    db.merge(b"c", b"x", operator="app.last")
left = eval(sys.argv[3])
if sys.argv[4] == "closed":
    db.close()
if sys.argv[4] == "alone":
    del db
if sys.argv[4] == "cycle":
    class Node: pass
    node = Node()
    node.itself, node.left = node, left
    del left, db
"""


@pytest.mark.parametrize("state", ["open", "closed", "alone", "cycle", "operator"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_alive_at_the_end_ends_without_the_interpreter(tmp_path, kind, state):
    """Module-level names are dropped when no thread may take the GIL any more."""
    if "arrow" in kind:
        pytest.importorskip("pyarrow")
    ended = subprocess.run(
        [sys.executable, "-c", LEFT, tmp_path / "db", kind, KINDS[kind], state],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_an_exit_function_may_still_use_the_database(tmp_path):
    program = """
import atexit, sys
@atexit.register
def last():
    db[b"last"] = b"1"
    db.compact()
    assert len(list(db.items())) == 1 and next(iter(db.scan())).names == ["key", "value"]
import foldb
db = foldb.open(sys.argv[1])
"""
    ended = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "db"], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_daemon_thread_that_reads_a_stream_does_not_crash_the_end(tmp_path):
    pytest.importorskip("pyarrow")
    program = """
import sys, threading, time
import foldb, pyarrow
db = foldb.open(sys.argv[1])
db.update((b"%06d" % number, b"x") for number in range(50_000))
def read():
    while True:
        pyarrow.RecordBatchReader.from_stream(db.scan(batch_rows=10)).read_all()
for _ in range(4):
    threading.Thread(target=read, daemon=True).start()
time.sleep(0.1)
"""
    for _ in range(4):
        ended = subprocess.run(
            [sys.executable, "-c", program, tmp_path / "db"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (ended.returncode, ended.stderr) == (0, "")
