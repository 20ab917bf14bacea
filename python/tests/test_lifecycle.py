"""Opens, closes, forks, interrupts, threads and leaks."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import foldb


def test_what_a_closed_database_says(tmp_path):
    db = foldb.open(tmp_path / "db", merge_operator="int64add", keys="str")
    db.merge("a", 1)
    other, snapshot, items = db.keyspace("other"), db.snapshot(), db.items()
    batch, tx, counts = db.batch(), db.transaction(), db.counters()
    assert not db.closed
    db.close()
    db.close()
    assert db.closed and "closed" in repr(db)
    for call in [
        lambda: db["a"],
        lambda: db.merge("a", 1),
        lambda: list(db),
        lambda: len(db),
        lambda: next(items),
        lambda: items.prev(),
        lambda: other.get(b"a"),
        lambda: snapshot["a"],
        lambda: batch.put("a", 1),
        lambda: tx.get("a"),
        lambda: counts.add("a"),
        lambda: counts.most_common(1),
        lambda: db.keyspace("new"),
        db.snapshot,
        db.transaction,
        db.flush,
        db.compact,
    ]:
        with pytest.raises(foldb.Closed) as error:
            call()
        assert isinstance(error.value, foldb.Error) and error.value.kind == "Closed"
    # The database knows its operator.
    with foldb.open(tmp_path / "db") as db:
        assert db.merge_operator == "int64add" and db.counters()["a"] == 1


def test_an_exception_closes_the_database(tmp_path):
    with pytest.raises(ZeroDivisionError):
        with foldb.open(tmp_path / "db") as db:
            db[b"a"] = b"1"
            1 / 0
    with foldb.open(tmp_path / "db") as db:
        assert db[b"a"] == b"1"


def test_a_second_open_is_locked_and_reads_are_not(tmp_path):
    with foldb.open(tmp_path / "db") as db:
        db[b"a"] = b"1"
        with pytest.raises(foldb.Locked):
            foldb.open(tmp_path / "db")
        with foldb.open(tmp_path / "db", read_only=True) as reader:
            assert reader[b"a"] == b"1" and reader.read_only
            for call in (lambda: reader.put(b"a", b"2"), reader.batch, reader.transaction, reader.flush):
                with pytest.raises(foldb.ReadOnly):
                    call()


def test_a_missing_database(tmp_path):
    with pytest.raises(foldb.DatabaseMissing) as error:
        foldb.open(tmp_path / "db", create=False)
    assert error.value.kind == "DatabaseMissing" and not (tmp_path / "db").exists()
    with pytest.raises(foldb.DatabaseMissing):
        foldb.open(tmp_path / "db", read_only=True)


def test_a_process_without_a_close_loses_nothing(tmp_path):
    program = (
        "import foldb, os, sys\n"
        "db = foldb.open(sys.argv[1], merge_operator='int64add')\n"
        "for _ in range(1000): db.merge(b'a', 1)\n"
        "os._exit(0) if sys.argv[2] == 'exit' else None\n"
    )
    for way in ("exit", "end"):
        subprocess.run([sys.executable, "-c", program, tmp_path / way, way], check=True)
        with foldb.open(tmp_path / way, create=False) as db:
            assert int.from_bytes(db[b"a"], "little") == 1000


def test_an_open_that_fails_waits_for_a_fold_without_the_gil(tmp_path):
    """The keys are wrong, and so the database closes while a compaction folds in Python."""
    program = """
import foldb, os, sys, threading, time
path, is_slow = sys.argv[1], False
def full(key, value, operands):
    if is_slow:
        time.sleep(0.005)
    return operands[-1]
operator = foldb.MergeOperator("app.last", full)
if sys.argv[2] == "fill":
    db = foldb.open(
        path, merge_operator=operator, write_buffer_size=1 << 16, disable_auto_compactions=True
    )
    for round in range(13):
        for number in range(300):
            db.merge(b"%05d" % number, b"x" * 300)
        db.flush()
    os._exit(0)
is_slow = True
# The threads make the way back from the open long enough for a fold.
sys.setswitchinterval(0.05)
def spin():
    while True:
        pass
for _ in range(2):
    threading.Thread(target=spin, daemon=True).start()
for _ in range(6):
    try:
        foldb.open(path, merge_operator=operator, keys="str")
    except foldb.InvalidArgument:
        pass
os._exit(0)
"""
    # Each of 300 folds waits for two turns of the spinning threads: up to a minute in all.
    for step, seconds in (("fill", 60), ("open", 240)):
        ran = subprocess.run([sys.executable, "-c", program, tmp_path / "db", step], timeout=seconds)
        assert ran.returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_control_c_ends_long_calls(tmp_path):
    program = """
import foldb, os, signal, sys, threading, time
# A parent that runs in the background of a shell ignores the signal, and so would this one.
signal.signal(signal.SIGINT, signal.default_int_handler)
db = foldb.open(sys.argv[1], wal_retention_bytes=1 << 20, merge_operator="int64add", keys="int")
def interrupted(call):
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    try:
        call()
    except KeyboardInterrupt:
        assert time.monotonic() - begin < 10
        return
    raise AssertionError(call)
updates = db.updates(db.position())
interrupted(updates.wait)
def forever():
    while True:
        yield 1
interrupted(lambda: db.counters().update(forever()))
interrupted(lambda: db.multi_get(forever()))
db[1] = 1
assert db[1] == (1).to_bytes(8, "little")
"""
    subprocess.run([sys.executable, "-c", program, tmp_path / "db"], check=True, timeout=120)


def test_threads_share_a_database(tmp_path):
    with foldb.open(tmp_path / "db", merge_operator="int64add") as db:
        counts = db.counters()

        def work(number):
            for step in range(500):
                counts[b"all"] += 1
                db.put(b"%d-%d" % (number, step), step)
                if step % 100 == 0:
                    assert len(list(db.keys(prefix=b"%d-" % number))) == step + 1

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counts[b"all"] == 4000 and len(db) == 4001


def test_a_close_under_threads_never_crashes(tmp_path):
    db = foldb.open(tmp_path / "db")
    db.update({b"%05d" % number: b"x" * 100 for number in range(5000)})
    errors = []

    def work():
        try:
            while True:
                for _ in db.items():
                    pass
                db[b"a"] = b"1"
        except foldb.Closed as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    db.close()
    for thread in threads:
        thread.join(timeout=60)
    assert len(errors) == 4


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_handles_leak_nothing(tmp_path):
    with foldb.open(tmp_path / "db", merge_operator="int64add") as db:
        db.update({b"%03d" % number: number for number in range(100)})

        def use():
            for _ in range(2_000):
                next(iter(db))
                db.snapshot().get(b"001")
                db.batch().put(b"x", 1)
                db.transaction().get(b"001")
                db.counters()[b"x"]
                try:
                    db.merge(b"001", b"")
                except foldb.InvalidArgument:
                    pass

        use()
        gc.collect()
        before = resident()
        for _ in range(5):
            use()
        gc.collect()
        assert resident() - before < 8 << 20
        assert db.stats()["snapshots"] == 0


def test_maintenance(tmp_path):
    with foldb.open(tmp_path / "db") as db:
        views = db.keyspace("views")
        views[b"x"] = b"1"
        db.update({b"%05d" % number: b"v" * 100 for number in range(1000)})
        db.flush()
        db.sync()
        db.compact()
        db.compact(b"1", b"2")
        assert db.verify() >= 1001 and db.collect_garbage() >= 0
        db.checkpoint(tmp_path / "copy")
        assert db.dump(tmp_path / "dump") == 1001
        with pytest.raises(foldb.Io):
            db.dump(tmp_path / "dump")
        backups = foldb.Backups(tmp_path / "backups")
        first = backups.create(db)
        db[b"new"] = b"1"
        second = backups.create(db)
        assert [backup["id"] for backup in backups.list()] == [first["id"], second["id"]]
        backups.restore(tmp_path / "restored", id=first["id"])
        backups.delete(first["id"])
        stats = db.stats()
        assert stats["puts"] == 1002 and stats["keyspaces"]["views"] and stats["levels"]
        assert db.approximate_count() >= 1000 and db.approximate_size() > 0
    assert foldb.restore(tmp_path / "dump", tmp_path / "again") == 1001
    for copy in ("copy", "again", "restored"):
        with foldb.open(tmp_path / copy, create=False) as db:
            assert len(db) == 1000 and db.keyspace("views")[b"x"] == b"1"
    assert foldb.verify(tmp_path / "copy") == []
    assert foldb.repair(tmp_path / "copy")["lost_nothing"]
    foldb.destroy(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_the_change_feed(tmp_path):
    with foldb.open(tmp_path / "db", wal_retention_bytes=1 << 20, merge_operator="int64add") as db:
        with db.batch() as batch:
            batch[b"a"] = 1
            batch.delete(b"b")
            batch.delete_range(b"c", b"d")
            batch.merge(b"a", 2)
        db.keyspace("views")
        db.sync()
        updates = db.updates()
        first, second = [update for update in updates if update.kind != "keyspaces" or update.created != ["default"]]
        assert [(write.kind, write.key, write.keyspace) for write in first.writes] == [
            ("put", b"a", "default"),
            ("delete", b"b", "default"),
            ("delete_range", b"c", "default"),
            ("merge", b"a", "default"),
        ]
        assert first.writes[2].stop == b"d" and first.writes[3].operator == "int64add"
        assert first.writes[3].value == (2).to_bytes(8, "little")
        assert second.kind == "keyspaces" and second.created == ["views"]
        assert not updates.wait(0.01)
        position = updates.position
        db.put(b"z", 1, sync=True)
        assert updates.wait(10)
        assert [write.key for update in db.updates(position) for write in update.writes] == [b"z"]
        with pytest.raises(foldb.InvalidArgument):
            db.updates(b"x")


def test_the_shell(tmp_path):
    with foldb.open(tmp_path / "db", keys=("str", "int"), merge_operator="int64add") as db:
        db.merge(("a", 7), 42)
    shell = os.path.join(os.path.dirname(sys.executable), "foldb")
    shown = subprocess.run([shell, "scan", tmp_path / "db"], capture_output=True, text=True)
    assert shown.returncode == 0 and "42" in shown.stdout and "a" in shown.stdout, shown
    assert subprocess.run([shell, "nonsense"], capture_output=True).returncode == 2


def test_the_last_handle_closes_the_database(tmp_path):
    for _ in range(3):
        db = foldb.open(tmp_path / "db")
        keys = iter(db.keyspace("other"))
        db[b"a"] = b"1"
        del db, keys
        gc.collect()
    with foldb.open(tmp_path / "db", create=False) as db:
        assert db[b"a"] == b"1"


def test_a_sub_interpreter_is_refused_and_the_main_one_works(tmp_path):
    program = """
import sys
try:
    import _interpreters as subs
except ImportError:
    import _xxsubinterpreters as subs
try:
    failed = subs.run_string(subs.create(), f"import sys; sys.path[:] = {sys.path!r}; import foldb")
except Exception as error:
    failed = error
assert "ImportError" in str(failed) and "interpreter" in str(failed), failed
import foldb
foldb.open(sys.argv[1])[b"a"] = b"1"
"""
    ran = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "db")], capture_output=True, text=True
    )
    if "No module named '_xxsubinterpreters'" in ran.stderr:
        pytest.skip("this Python has no sub-interpreters")
    assert ran.returncode == 0 and not ran.stderr, ran.stderr
