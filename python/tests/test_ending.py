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
