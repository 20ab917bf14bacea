"""Merge operators and comparators that are written in Python."""

import gc
import os
import signal
import subprocess
import sys
import threading

import pytest

import foldb


def longest_of(key, value, operands):
    return max(operands if value is None else [value, *operands], key=len)


LONGEST = foldb.MergeOperator("app.longest", longest_of, lambda key, operands: max(operands, key=len))
JOINED = foldb.MergeOperator.associative("app.joined", lambda older, newer: older + newer)


def run(program, *arguments, timeout=60):
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def test_an_operator_folds_everywhere(tmp_path):
    with foldb.open(tmp_path / "db", merge_operator=LONGEST, operators=[LONGEST, JOINED]) as db:
        assert db.merge_operator == "app.longest" == LONGEST.name
        for operand in (b"a", b"ccc", b"bb"):
            db.merge(b"key", operand)
            db.flush()
        assert db[b"key"] == b"ccc"
        db.compact()
        db.merge(b"key", b"dddd")
        assert list(db.items()) == [(b"key", b"dddd")] and db.multi_get([b"key"]) == [b"dddd"]
        assert db.merge_get(b"key", b"eeeee") == b"eeeee"
        joined = db.keyspace("joined", merge_operator=JOINED, keys="str")
        for letter in (b"a", b"b", b"c"):
            joined.merge("abc", letter)
        db.merge(b"named", b"x", operator="app.joined")
        with db.batch() as batch:
            batch.merge(b"named", b"y", operator="app.joined")
            batch.merge("abc", b"d", keyspace=joined)
        with db.transaction() as tx:
            tx.merge("abc", b"e", keyspace=joined)
            assert tx.get("abc", keyspace=joined) == b"abcde"
        assert joined["abc"] == b"abcde" and db[b"named"] == b"xy"
    with pytest.raises(foldb.UnknownOperator):
        foldb.open(tmp_path / "db")
    with foldb.open(tmp_path / "db", operators=[LONGEST, JOINED]) as db:
        assert db[b"key"] == b"eeeee" and db.keyspace("joined")["abc"] == b"abcde"
    with foldb.open(tmp_path / "db", operators=(JOINED, LONGEST), read_only=True) as db:
        assert db[b"named"] == b"xy"


def test_full_deletes_a_key_by_returning_none(tmp_path):
    def until_stop(key, value, operands):
        return None if operands[-1] == b"stop" else bytearray(operands[-1])

    with foldb.open(tmp_path / "db", merge_operator=foldb.MergeOperator("a.b", until_stop)) as db:
        db.merge(b"a", b"1")
        assert db[b"a"] == b"1"
        db.merge(b"a", b"stop")
        assert b"a" not in db and list(db) == []


def test_the_exception_of_an_operator_is_the_cause(tmp_path):
    def picky(key, value, operands):
        if b"bad" in operands:
            raise ValueError(f"no {key!r}")
        return b"|".join(operands if value is None else [value, *operands])

    with foldb.open(tmp_path / "db", merge_operator=foldb.MergeOperator("app.picky", picky)) as db:
        db.merge(b"good", b"1")
        db.merge(b"key", b"bad")
        for read in (
            lambda: db[b"key"],
            lambda: db.multi_get([b"good", b"key"]),
            lambda: list(db.items(b"key")),
            lambda: db.merge_get(b"key", b"more"),
        ):
            with pytest.raises(foldb.MergeFailed, match="no b'key'") as failed:
                read()
            assert isinstance(failed.value.__cause__, ValueError), read
            assert failed.value.key == b"key" and failed.value.kind == "MergeFailed"
            assert db[b"good"] == b"1"
        # Background work keeps what it cannot fold.
        db.flush()
        db.compact()
        with pytest.raises(foldb.MergeFailed):
            db[b"key"]
        db[b"key"] = b"again"
        assert db[b"key"] == b"again"


def test_an_exception_of_another_fold_is_no_cause(tmp_path):
    def failing(key, value, operands):
        raise ValueError("mine")

    with foldb.open(tmp_path / "db", merge_operator=foldb.MergeOperator("app.no", failing)) as db:
        db.merge(b"a", b"1")
        with pytest.raises(foldb.MergeFailed):
            db[b"a"]
        db.put(b"n", b"short")
        db.merge(b"n", b"12345678", operator="int64add")
        with pytest.raises(foldb.MergeFailed) as failed:
            db[b"n"]
        assert failed.value.__cause__ is None and "mine" not in str(failed.value)


@pytest.mark.parametrize("answer", [1, "text", [b"a"], object()])
def test_an_operator_that_returns_no_bytes_fails(tmp_path, answer):
    operator = foldb.MergeOperator("app.odd", lambda key, value, operands: answer)
    with foldb.open(tmp_path / "db", merge_operator=operator) as db:
        db.merge(b"a", b"1")
        with pytest.raises(foldb.MergeFailed, match="full: expected bytes") as failed:
            db[b"a"]
        assert isinstance(failed.value.__cause__, TypeError)


def test_partial_that_raises_keeps_the_operands(tmp_path):
    shown = []

    def partial(key, operands):
        raise RuntimeError("partial")

    operator = foldb.MergeOperator("app.half", longest_of, partial, shrinks=True)
    hook, sys.unraisablehook = sys.unraisablehook, lambda unraisable: shown.append(unraisable)
    try:
        with foldb.open(tmp_path / "db", merge_operator=operator) as db:
            for _ in range(3):
                db.merge(b"a", b"1")
                db.merge(b"a", b"22")
                db.flush()
            db.compact()
            assert db[b"a"] == b"22"
    finally:
        sys.unraisablehook = hook
    assert len(shown) == 1 and str(shown[0].exc_value) == "partial"


def test_a_check_refuses_an_operand(tmp_path):
    def check(operand):
        if not operand.isdigit():
            raise ValueError("digits only")

    operator = foldb.MergeOperator("app.digits", longest_of, check=check)
    with foldb.open(tmp_path / "db", merge_operator=operator) as db:
        with pytest.raises(foldb.InvalidArgument, match="digits only"):
            db.merge(b"a", b"x")
        assert b"a" not in db
        db.merge(b"a", b"1")


def test_bad_operators_are_refused_by_the_name_of_the_argument(tmp_path):
    for call, error, text in [
        (lambda: foldb.MergeOperator("a.b", 1), TypeError, "full: expected a callable, not int"),
        (lambda: foldb.MergeOperator("a.b", max, 1), TypeError, "partial: expected a callable"),
        (lambda: foldb.MergeOperator("a.b", max, check=1), TypeError, "check: expected a callable"),
        (lambda: foldb.MergeOperator.associative("a.b", 1), TypeError, "combine: expected"),
        (lambda: foldb.Comparator("a", 1), TypeError, "compare: expected a callable"),
        (lambda: foldb.open(tmp_path / "a", operators=1), TypeError, "operators: expected"),
        (lambda: foldb.open(tmp_path / "a", operators=["a.b"]), TypeError, "operators: .*not str"),
        (lambda: foldb.open(tmp_path / "a", merge_operator=1), TypeError, "merge_operator: .*int"),
        (lambda: foldb.open(tmp_path / "a", comparator=max), TypeError, "comparator: expected a"),
        (lambda: foldb.open(tmp_path / "a", comparators=[1]), TypeError, "comparators: expected"),
        (
            lambda: foldb.open(tmp_path / "a", merge_operator=foldb.MergeOperator("nodot", max)),
            foldb.InvalidArgument,
            "nodot",
        ),
    ]:
        with pytest.raises(error, match=text):
            call()


def test_an_operator_may_read_the_database_and_not_write(tmp_path):
    seen = []

    def nosy(key, value, operands):
        seen.append(db.get(b"other"))
        try:
            db.flush()
        except foldb.Error as error:
            seen.append(error.kind)
        return operands[-1]

    with foldb.open(tmp_path / "db", merge_operator=foldb.MergeOperator("app.nosy", nosy)) as db:
        db[b"other"] = b"1"
        db.merge(b"a", b"2")
        assert db[b"a"] == b"2"
        assert seen[0] == b"1"


def test_an_operator_folds_for_arrow(tmp_path):
    """Arrow reads a scan without the GIL, inside a call that pyo3 takes for one with it."""
    pyarrow = pytest.importorskip("pyarrow")

    def fold(key, value, operands):
        return b",".join(operands if value is None else [value, *operands])

    with foldb.open(tmp_path / "db", merge_operator=foldb.MergeOperator("app.join", fold)) as db:
        for number in range(300):
            db.merge(b"%d" % (number % 3), b"x")
        for _ in range(20):
            table = db.scan().to_arrow()
            assert table.column(1).to_pylist() == [b",".join([b"x"] * 100)] * 3
            assert pyarrow.table(db.scan(batch_rows=1)).num_rows == 3
            assert db.transact(lambda tx: pyarrow.table(db.scan()).num_rows) == 3


@pytest.mark.filterwarnings("error")
def test_what_a_callback_may_not_do(tmp_path):
    """Handles that a callback drops could wait for the locks that the engine holds around it."""
    kinds, held = [], []

    def partial(key, operands):
        held.clear()
        gc.collect()
        for call in (lambda: db.put(b"x", b""), lambda: db.flush(), lambda: db.get(b"a")):
            try:
                call()
                kinds.append("done")
            except foldb.Error as error:
                kinds.append(error.kind)
        return max(operands)

    operator = foldb.MergeOperator("app.busy", longest_of, partial, shrinks=True)
    db = foldb.open(tmp_path / "db", merge_operator=operator)

    def fold():
        for number in range(100):
            other = foldb.open(tmp_path / str(number))
            cycle = [other, db.items(), db.snapshot(), db.batch(), db.transaction()]
            cycle[-1].get(b"a")
            cycle.append(cycle)
            held.append(cycle)
            del cycle, other
            db.merge(b"a", b"%03d" % number)
            if number % 20 == 19:
                db.flush()
            held.clear()
            gc.collect()

    thread = threading.Thread(target=fold, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), kinds[-3:]
    assert len(db[b"a"]) == 3
    assert {"Reentrant", "done"} <= set(kinds), set(kinds)
    db.close()


def test_threads_fold_while_others_write(tmp_path):
    """A call that held the GIL while it waited for a writer, whose fold waits for the GIL, hung."""
    operator = foldb.MergeOperator.associative("app.max", max, shrinks=True)
    with foldb.open(tmp_path / "db", merge_operator=operator, write_buffer_size=1 << 18) as db:
        failures = []

        def work(number):
            try:
                for i in range(300):
                    key = b"%d" % (i % 5)
                    db.merge(key, b"%08d" % i)
                    db.get(key)
                    entries = db.items()
                    next(entries, None)
                    del entries
                    if i % 50 == number:
                        db.flush()
                        db.snapshot()
                        db.keyspace("other")
                        db.keyspaces()
                        tx = db.transaction()
                        tx.merge(key, b"0")
                        del tx
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert not any(thread.is_alive() for thread in threads) and not failures
        assert db[b"4"] == b"00000299"


ENDINGS = {
    "end": "",
    "exit": "sys.exit(0)",
    "hard": "os._exit(0)",
    "thread": "threading.Thread(target=sys.exit).start()",
    "daemon": "threading.Thread(target=forever, daemon=True).start(); time.sleep(0.05)",
    "slow": "threading.Thread(target=slow, daemon=True).start(); time.sleep(0.05)",
}

PROGRAM = """
import foldb, os, sys, threading, time
def fold(key, value, operands):
    if key == b"slow": time.sleep(0.5)
    return max(operands if value is None else [value, *operands])
operator = foldb.MergeOperator("app.max", fold, lambda key, operands: max(operands), shrinks=True)
order = foldb.Comparator("app.down", lambda a, b: (a < b) - (a > b))
db = foldb.open(sys.argv[1], merge_operator=operator, comparator=order, write_buffer_size=1 << 16)
entries = db.items()
for i in range(2000):
    db.merge(b"%d" % (i % 10), b"%0100d" % i)
db.merge(b"slow", b"1")
def forever():
    while True:
        db.merge(b"d", b"1" * 100); db.get(b"d")
def slow():
    while True:
        db.get(b"slow")
"""


@pytest.mark.parametrize("ending", sorted(ENDINGS))
def test_a_process_ends_without_a_close(tmp_path, ending):
    for _ in range(3):
        ended = run(PROGRAM + ENDINGS[ending], tmp_path / "db")
        # A daemon thread may learn that the interpreter ends; no thread panics or hangs.
        assert ended.returncode == 0 and "panicked at" not in ended.stderr, ended.stderr
    operator = foldb.MergeOperator.associative("app.max", max, shrinks=True)
    order = foldb.Comparator("app.down", lambda a, b: (a < b) - (a > b))
    with foldb.open(tmp_path / "db", operators=[operator], comparator=order) as db:
        assert db[b"9"] == b"%0100d" % 1999
        assert list(db.keys(b"9", b"6")) == [b"9", b"8", b"7"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_ends_while_a_callback_runs_in_the_parent(tmp_path):
    program = """
import foldb, os, sys, threading, time
def fold(key, value, operands):
    time.sleep(1)
    return operands[-1]
db = foldb.open(sys.argv[1], merge_operator=foldb.MergeOperator("app.slow", fold))
db.merge(b"a", b"1")
thread = threading.Thread(target=db.get, args=(b"a",))
thread.start()
time.sleep(0.2)
begin = time.monotonic()
if os.fork() == 0:
    sys.exit(0)
assert os.wait()[1] == 0 and time.monotonic() - begin < 5
thread.join()
assert db[b"a"] == b"1"
"""
    ended = run(program, tmp_path / "db")
    assert ended.returncode == 0, ended.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_control_c_in_a_callback_is_a_keyboard_interrupt(tmp_path):
    program = """
import foldb, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
def fold(key, value, operands):
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000): pass
    return b""
db = foldb.open(sys.argv[1], merge_operator=foldb.MergeOperator("app.int", fold))
db.merge(b"a", b"1")
try:
    db[b"a"]
except KeyboardInterrupt:
    print("interrupted")
db[b"a"] = b"2"
assert db[b"a"] == b"2"
"""
    ended = run(program, tmp_path / "db")
    assert ended.stdout == "interrupted\n", ended.stderr


def test_callbacks_leak_nothing(tmp_path):
    class Text(bytes):
        alive = 0

        def __new__(cls, text):
            cls.alive += 1
            return super().__new__(cls, text)

        def __del__(self):
            Text.alive -= 1

    def fold(key, value, operands):
        if key == b"bad":
            raise ValueError(Text(b"bad"))
        return Text(operands[-1])

    for number in range(3):
        operator = foldb.MergeOperator("app.text", fold)
        with foldb.open(tmp_path / str(number), merge_operator=operator) as db:
            db.merge(b"bad", b"1")
            db.merge(b"a", b"1")
            for _ in range(1000):
                db.get(b"a")
                with pytest.raises(foldb.MergeFailed):
                    db.get(b"bad")
    gc.collect()
    assert Text.alive < 5


DOWN = foldb.Comparator("app.down", lambda a, b: (a < b) - (a > b))


def no_case(a, b):
    a, b = a.lower(), b.lower()
    return (a > b) - (a < b)


def test_a_comparator_orders_keys(tmp_path):
    with foldb.open(tmp_path / "db", comparator=DOWN, merge_operator="int64add") as db:
        for i in range(100):
            db.merge(b"%02d" % i, 1)
        assert db.first()[0] == b"99" and next(iter(db)) == b"99"
        db.flush()
        assert list(db.keys(b"50", b"48")) == [b"50", b"49"]
        assert list(db.keys(b"50", b"48", reverse=True)) == [b"49", b"50"]
        keys = db.keys()
        keys.seek(b"30")
        assert (next(keys), next(keys), keys.prev(), keys.prev(), keys.prev()) == (
            b"30", b"29", b"29", b"30", b"31",
        )
        db.delete_range(b"99", b"01")
        assert list(db) == [b"01", b"00"]
        fold = foldb.Comparator("app.nocase", no_case, equal_keys_may_differ=True)
        words = db.keyspace("words", comparator=fold)
        words[b"Ann"] = b"1"
        words[b"ANN"] = b"2"
        assert len(words) == 1 and words[b"ann"] == b"2"
    with pytest.raises(foldb.InvalidArgument, match="app.down"):
        foldb.open(tmp_path / "db", comparators=[fold])
    with pytest.raises(foldb.UnknownComparator, match="app.nocase"):
        foldb.open(tmp_path / "db", comparator=DOWN)
    assert foldb.verify(tmp_path / "db", comparator=DOWN, comparators=[fold]) == []
    with foldb.open(tmp_path / "db", comparator=DOWN, comparators=[fold]) as db:
        assert list(db) == [b"01", b"00"] and db.keyspace("words")[b"aNN"] == b"2"


def test_a_comparator_that_raises(tmp_path):
    def compare(a, b):
        if b"bad" in (a, b):
            raise ValueError("bad key")
        return (a > b) - (a < b)

    def seek(keys, key):
        keys.seek(key)
        next(keys)

    order = foldb.Comparator("app.picky", compare)
    with foldb.open(tmp_path / "db", comparator=order) as db:
        db[b"a"] = b"1"
        for call in (
            lambda: db.put(b"bad", b""),
            lambda: db[b"bad"],
            lambda: b"bad" in db,
            lambda: db.keys(b"bad"),
            lambda: seek(db.keys(), b"bad"),
            lambda: db.delete_range(b"a", b"bad"),
            lambda: db.put_if_absent(b"bad", b""),
            lambda: db.update({b"bad": b""}),
            lambda: db.load([(b"bad", b"")]),
            lambda: db.multi_get([b"bad"]),
            lambda: db.transaction().get(b"bad"),
        ):
            with pytest.raises(foldb.ComparatorFailed, match="bad key") as failed:
                call()
            assert isinstance(failed.value.__cause__, ValueError)
            assert failed.value.kind == "ComparatorFailed"
            assert db[b"a"] == b"1"


def test_a_comparator_that_fails_later(tmp_path):
    fails = []

    def compare(a, b):
        if fails:
            raise ValueError("later")
        return (a > b) - (a < b)

    order = foldb.Comparator("app.later", compare)
    with foldb.open(tmp_path / "db") as other:
        db = other.keyspace("ordered", comparator=order)
        for i in range(50):
            db[b"%d" % i] = b"1"
        other.flush()
        for i in range(50, 100):
            db[b"%d" % i] = b"1"
        entries = db.items()
        next(entries)
        fails.append(1)
        for call in (
            lambda: db[b"3"],
            lambda: list(db),
            lambda: len(db),
            db.first,
            lambda: list(entries),
            other.compact,
            lambda: db.put(b"x", b""),
        ):
            with pytest.raises(foldb.ComparatorFailed, match="later|comparator"):
                call()
        other[b"a"] = b"1"
        assert other[b"a"] == b"1"
    fails.clear()
    with foldb.open(tmp_path / "db", comparators=[order]) as db:
        assert len(db.keyspace("ordered")) == 100


@pytest.mark.parametrize("answer", [None, 1.5, "a"])
def test_a_comparator_that_returns_no_int(tmp_path, answer):
    order = foldb.Comparator("app.odd", lambda a, b: answer)
    with foldb.open(tmp_path / "db", comparator=order) as db:
        with pytest.raises(foldb.ComparatorFailed, match="not an int"):
            db[b"a"] = b"1"
