"""The everyday calls: what a dict has, ranges, batches, keyspaces, transactions."""

import collections.abc
import datetime
import pickle
import threading
import time
import uuid

import pytest

import foldb


@pytest.fixture
def db(tmp_path):
    with foldb.open(tmp_path / "db") as db:
        yield db


def test_a_database_is_a_mapping(db):
    assert isinstance(db, collections.abc.MutableMapping)
    db[b"a"] = b"1"
    db.put(b"b", b"2")
    assert db[b"a"] == b"1" and b"b" in db and b"c" not in db
    assert db.get(b"c") is None and db.get(b"c", b"?") == b"?"
    assert list(db) == [b"a", b"b"] and list(reversed(db)) == [b"b", b"a"]
    assert list(db.items()) == [(b"a", b"1"), (b"b", b"2")] and list(db.values()) == [b"1", b"2"]
    assert len(db) == 2 and db
    assert db.pop(b"a") == b"1" and db.pop(b"a", 7) == 7
    assert db.setdefault(b"c", b"3") == b"3" and db.setdefault(b"c", b"4") == b"3"
    db.update({b"d": b"4"})
    db.update([(b"e", b"5")])
    assert db.popitem() == (b"b", b"2")
    assert dict(db.items()) == {b"c": b"3", b"d": b"4", b"e": b"5"}
    db.clear()
    assert not db and len(db) == 0
    with pytest.raises(KeyError):
        db.popitem()


def test_an_absent_key_is_a_key_error_with_the_key(db):
    for call in (lambda: db[b"x"], lambda: db.__delitem__(b"x"), lambda: db.pop(b"x")):
        with pytest.raises(KeyError) as error:
            call()
        assert error.value.args == (b"x",)


def test_arguments_of_a_wrong_type_are_named(db):
    with pytest.raises(TypeError, match='key: expected bytes, not str.*keys="str"'):
        db["a"]
    with pytest.raises(TypeError, match="value: expected bytes or another buffer, not int"):
        db[b"a"] = 1
    with pytest.raises(foldb.InvalidArgument, match="no option is called 'blum'"):
        foldb.open("nowhere", blum=1)
    with pytest.raises(TypeError, match="bloom_bits: expected"):
        foldb.open("nowhere", bloom_bits=[1])


def test_any_buffer_is_a_key_and_a_value(db):
    db[bytearray(b"a")] = memoryview(b"xyz")[1:]
    assert db[memoryview(b"a")] == b"yz"


def test_ranges(db):
    for number in range(2000):
        db[b"%05d" % number] = b"%d" % number
    assert list(db.keys(b"00003", b"00006")) == [b"00003", b"00004", b"00005"]
    assert list(db.keys(b"00003", b"00006", include_start=False, include_stop=True)) == [
        b"00004",
        b"00005",
        b"00006",
    ]
    assert [int(value) for value in db.values(prefix=b"0001")] == list(range(10, 20))
    assert [int(key) for key in db.keys(reverse=True)] == list(range(1999, -1, -1))
    assert list(db.range(b"00001", prefix=b"0000", reverse=True))[-1] == (b"00001", b"1")
    assert db.first() == (b"00000", b"0") and db.last() == (b"01999", b"1999")
    assert list(db.keys(b"5", b"4")) == []
    assert db.multi_get([b"00001", b"x"], b"") == [b"1", b""]
    db.delete_range(b"00001", b"01999")
    assert list(db) == [b"00000", b"01999"]
    assert db.take_first(prefix=b"01") == (b"01999", b"1999")


def test_an_iterator_goes_both_ways(db):
    for number in range(1000):
        db[b"%04d" % number] = b""
    keys = db.keys()
    for number in range(500):
        assert next(keys) == b"%04d" % number
    for number in range(499, -1, -1):
        assert keys.prev() == b"%04d" % number
    with pytest.raises(StopIteration):
        keys.prev()
    assert next(keys) == b"0000"
    keys.seek(b"0700")
    assert keys.prev() == b"0699" and next(keys) == b"0699" and next(keys) == b"0700"
    keys.seek_to_stop()
    assert next(keys, None) is None and keys.prev() == b"0999"
    keys.close()
    with pytest.raises(foldb.Closed):
        next(keys)


def test_an_iterator_shows_its_moment(db):
    db[b"a"] = b"1"
    items = db.items()
    db[b"a"] = b"2"
    db[b"b"] = b"3"
    assert list(items) == [(b"a", b"1")]


def test_snapshots(db):
    db[b"a"] = b"1"
    views = db.keyspace("views")
    views[b"x"] = b"1"
    with db.snapshot() as moment:
        db[b"a"] = b"2"
        views[b"x"] = b"2"
        assert moment[b"a"] == b"1" and moment.keyspace(views)[b"x"] == b"1"
        assert not hasattr(moment, "put")
        keys = iter(moment)
    for call in (lambda: moment[b"a"], lambda: next(keys), lambda: list(moment)):
        with pytest.raises(foldb.Closed):
            call()


def test_a_batch_is_written_whole_or_not_at_all(db):
    views = db.keyspace("views", merge_operator="int64add")
    with db.batch() as batch:
        batch[b"a"] = b"1"
        batch.put(b"b", b"2")
        batch.merge(b"x", 5, keyspace=views)
        del batch[b"b"]
        assert b"a" not in db
    assert list(db) == [b"a"] and views[b"x"] == (5).to_bytes(8, "little")
    with pytest.raises(ZeroDivisionError):
        with db.batch() as batch:
            batch[b"c"] = b"3"
            1 / 0
    assert b"c" not in db


def test_merges(tmp_path):
    with foldb.open(tmp_path / "db", merge_operator="int64add") as db:
        db.merge(b"a", 5)
        db.merge(b"a", -7)
        db.merge(b"a", (1).to_bytes(8, "little"))
        assert int.from_bytes(db[b"a"], "little", signed=True) == -1
        assert db.merge_get(b"a", 1) == bytes(8)
        db.merge(b"l", b"x", operator="append")
        with pytest.raises(OverflowError, match="operand"):
            db.merge(b"a", 1 << 63)
        with pytest.raises(foldb.InvalidArgument):
            db.merge(b"a", b"123")
        assert db.merge_operator == "int64add"


def test_conditional_writes(db):
    assert db.put_if_absent(b"a", b"1") and not db.put_if_absent(b"a", b"2")
    assert db.compare_and_swap(b"a", b"1", b"2") and not db.compare_and_swap(b"a", b"1", b"3")
    assert db.compare_and_swap(b"b", None, b"1") and db.compare_and_swap(b"a", b"2", None)
    assert list(db.items()) == [(b"b", b"1")]


def test_transactions(db):
    db[b"a"] = b"1"
    with db.transaction() as tx:
        tx[b"b"] = tx[b"a"]
        assert b"b" in tx and b"b" not in db and list(tx.items()) == [(b"a", b"1"), (b"b", b"1")]
    assert db[b"b"] == b"1"
    with pytest.raises(foldb.Conflict):
        with db.transaction() as tx:
            tx[b"c"] = tx[b"a"]
            db[b"a"] = b"2"
    assert b"c" not in db
    with pytest.raises(ZeroDivisionError):
        with db.transaction() as tx:
            tx[b"c"] = b"1"
            1 / 0
    assert b"c" not in db
    with pytest.raises(foldb.Closed):
        tx.get(b"a")


def test_transact_runs_again_after_a_conflict(db):
    db[b"n"] = b"0"

    def add(tx):
        tx[b"n"] = b"%d" % (int(tx[b"n"]) + 1)

    threads = [
        threading.Thread(target=lambda: [db.transact(add, attempts=10_000) for _ in range(50)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert db[b"n"] == b"200"
    with pytest.raises(KeyError):
        db.transact(lambda tx: tx[b"missing"])


def test_expiry(db):
    sessions = db.keyspace("sessions", expiry="per-write")
    sessions.put(b"a", b"1", ttl=3600)
    sessions.put(b"b", b"1", ttl=datetime.timedelta(0))
    sessions.put(b"c", b"1")
    left = sessions.expires_at(b"a") - datetime.datetime.now(datetime.timezone.utc)
    assert 3500 < left.total_seconds() <= 3601
    # An entry stays for up to a second longer than its lifetime.
    for _ in range(100):
        if b"b" not in sessions:
            break
        time.sleep(0.05)
    assert list(sessions) == [b"a", b"c"] and sessions.expires_at(b"c") is None
    assert sessions.expire(b"a", None) and sessions.expires_at(b"a") is None
    with pytest.raises(foldb.InvalidArgument):
        db.put(b"a", b"1", ttl=1)
    with pytest.raises(ValueError, match="ttl"):
        sessions.put(b"a", b"1", ttl=-1)


def test_keyspaces(db):
    views = db.keyspace("views", keys="str", merge_operator="int64add")
    views.merge("a", 1)
    assert sorted(db.keyspaces()) == ["default", "views"]
    assert list(db.keyspace("views").keys()) == ["a"]
    with pytest.raises(foldb.InvalidArgument, match="keys"):
        db.keyspace("views", keys="int")
    with pytest.raises(foldb.KeyspaceMissing):
        db.keyspace("nothing", create=False)
    db.drop_keyspace("views")
    with pytest.raises(foldb.KeyspaceDropped):
        views.merge("a", 1)


UTC = datetime.timezone.utc
SORTED = {
    "str": ["", "\0", "\0\0", "\x01", "a", "a\0", "a\0b", "ab", "é"],
    "int": [-(2**63), -1, 0, 1, 255, 256, 2**63 - 1],
    "float": [float("-inf"), -1.5, -0.0, 0.0, 1e-300, 2.0, float("inf")],
    "bool": [False, True],
    "datetime": [
        datetime.datetime(1, 1, 1, tzinfo=UTC),
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime.datetime(1970, 1, 1, tzinfo=UTC),
        datetime.datetime(2026, 5, 17, 12, 30, 1, 5, tzinfo=UTC),
    ],
    "uuid": [uuid.UUID(int=0), uuid.UUID(int=1), uuid.UUID(int=2**128 - 1)],
    ("str", "int"): [("", 1), ("a", -1), ("a", 0), ("a\0", -5), ("b", -9)],
    ("bytes",): [(b"",), (b"\0",), (b"\0\1",), (b"\1",), (b"a",)],
}


@pytest.mark.parametrize("keys", SORTED, ids=str)
def test_keys_keep_their_order_and_come_back(tmp_path, keys):
    with foldb.open(tmp_path / "db", keys=keys) as db:
        for key in reversed(SORTED[keys]):
            db[key] = repr(key).encode()
        assert list(db) == SORTED[keys]
        assert all(db[key] == repr(key).encode() for key in SORTED[keys])
        assert db.schema.startswith("foldb-typed/1 keys=")
        first, last = SORTED[keys][0], SORTED[keys][-1]
        assert list(db.keys(first, last)) == SORTED[keys][:-1]
    # The database knows its keys.
    with foldb.open(tmp_path / "db") as db:
        assert list(db) == SORTED[keys]
    with foldb.open(tmp_path / "db", keys=keys, read_only=True) as db:
        assert list(db) == SORTED[keys]
    with pytest.raises(foldb.InvalidArgument, match="was created with keys"):
        foldb.open(tmp_path / "db", keys="bytes" if keys != "bytes" else "str")


def test_prefixes_of_typed_keys(tmp_path):
    with foldb.open(tmp_path / "db") as db:
        words = db.keyspace("words", keys="str")
        words.update({"car": b"", "card": b"", "cat": b""})
        assert list(words.keys(prefix="car")) == ["car", "card"]
        days = db.keyspace("days", keys=("str", "int"))
        days.update({("a", 1): b"", ("a", 2): b"", ("ab", 1): b"", ("b", 1): b""})
        assert list(days.keys(prefix=("a",))) == [("a", 1), ("a", 2)]
        assert list(days.keys(("a", 2), ("b",))) == [("a", 2), ("ab", 1)]
        numbers = db.keyspace("numbers", keys="int")
        with pytest.raises(TypeError, match="prefix"):
            numbers.keys(prefix=1)


def test_keys_of_a_wrong_type_are_refused(tmp_path):
    with foldb.open(tmp_path / "db", keys=("str", "datetime")) as db:
        for key, kind, text in [
            ("a", TypeError, "tuple"),
            (("a",), ValueError, "2 fields"),
            ((1, 2), TypeError, "expected str, not int"),
            (("a", 2), TypeError, "expected datetime, not int"),
            (("a", datetime.datetime(2026, 1, 1)), ValueError, "time zone"),
        ]:
            with pytest.raises(kind, match=text):
                db[key] = b""
    with pytest.raises(ValueError, match="keys: expected"):
        foldb.open(tmp_path / "other", keys="text")


def test_pickle_is_refused_with_advice(db):
    for handle in (db, db.keyspace("other"), db.snapshot()):
        with pytest.raises(TypeError, match="read_only=True"):
            pickle.dumps(handle)


def test_an_update_as_of_a_dict(tmp_path):
    with foldb.open(tmp_path / "db", keys="str") as db:
        db.update(a=b"1")
        db.update()
        db.update({"b": b"2"}, c=b"3", a=b"4")
        db.update([("other", b"5")], other=b"6")
        assert dict(db) == {"a": b"4", "b": b"2", "c": b"3", "other": b"6"}
        for wrong in (5, [5], ["abc"], [("a", b"1", b"2")]):
            with pytest.raises(TypeError, match="other: expected .*pairs of a key and a value"):
                db.update(wrong)
        with pytest.raises(TypeError, match="entries: expected pairs of a key and a value, not int"):
            db.load([5])
        with pytest.raises(TypeError, match="value"):
            db.update(a=1)
    with foldb.open(tmp_path / "bytes") as db, pytest.raises(TypeError, match="key: expected bytes"):
        db.update(a=b"1")


def test_the_keyspace_of_a_write_is_a_keyspace(tmp_path):
    with foldb.open(tmp_path / "db") as db:
        other, batch, tx = db.keyspace("r"), db.batch(), db.transaction()
        for call in (
            lambda: batch.put(b"a", b"1", keyspace="r"),
            lambda: batch.merge(b"a", b"1", keyspace="r"),
            lambda: batch.delete(b"a", keyspace="r"),
            lambda: tx.get(b"a", keyspace="r"),
            lambda: tx.put(b"a", b"1", keyspace="r"),
        ):
            with pytest.raises(TypeError, match=r"keyspace: expected what db.keyspace\(name\) returns, not str"):
                call()
        batch.put(b"a", b"1", keyspace=other)
        batch.put(b"b", b"2", keyspace=None)
        batch.write()
        assert other[b"a"] == b"1" and list(db) == [b"b"]


def test_the_feed_and_compactions_with_typed_keys(tmp_path):
    with foldb.open(tmp_path / "db", keys="str", wal_retention_bytes=1 << 20) as db:
        pairs = db.keyspace("pairs", keys=("str", "int"))
        db["a"] = b"1"
        pairs["b", 7] = b"2"
        db.delete_range("x", "z")
        writes = [write for update in db.updates(include_unsynced=True) for write in update.writes]
        assert [write.keyspace for write in writes] == ["default", "pairs", "default"]
        assert db.decode_key(writes[0].key) == "a" and pairs.decode_key(writes[1].key) == ("b", 7)
        assert db.encode_key("a") == writes[0].key
        span = writes[2]
        assert (db.decode_key(span.key), db.decode_key(span.stop)) == ("x", "z")
        assert (span.include_start, span.include_stop) == (True, False)
        assert writes[0].include_start is None and writes[0].include_stop is None
        db.compact("a", "b")
        db.compact("a")
        with pytest.raises(TypeError, match="start"):
            db.compact(b"a")
        with pytest.raises(TypeError, match="key"):
            db.decode_key("a")


def test_errors_of_the_system_have_their_number_and_file(tmp_path):
    import errno

    with foldb.open(tmp_path / "db") as db:
        with pytest.raises(foldb.Locked) as error:
            foldb.open(tmp_path / "db")
        assert isinstance(error.value, OSError) and str(error.value.filename) == str(error.value.path)
        assert "Errno" not in str(error.value)
        (tmp_path / "dump").write_bytes(b"")
        with pytest.raises(foldb.Io) as error:
            db.dump(tmp_path / "dump")
        assert error.value.errno == errno.EEXIST and str(error.value.filename).endswith("dump")
        assert error.value.strerror and "dump" in str(error.value)


def test_advice_speaks_the_names_of_python(tmp_path):
    with foldb.open(tmp_path / "db") as db:
        with pytest.raises(foldb.InvalidArgument, match="with the option expiry") as error:
            db.put(b"a", b"1", ttl=5)
        texts = [str(error.value)]
        for call in (
            lambda: db.updates(),
            lambda: foldb.open(tmp_path / "other", nonsense=1),
            lambda: (db.keyspace("k", merge_operator="list"), db.keyspace("k", merge_operator="set")),
            lambda: db.put(b"a", b"1", sync=True, ttl=1),
        ):
            with pytest.raises(foldb.Error) as error:
                call()
            texts.append(str(error.value))
        assert not [text for text in texts if "::" in text]


def test_many_keys_at_once(tmp_path):
    with foldb.open(tmp_path / "db", keys="int") as db:
        db.put_many(range(100_000), b"x")
        with db.snapshot() as moment:
            for reader in (db, moment):
                found = reader.multi_get(range(-1, 100_001), b"none")
                assert len(found) == 100_002 and found[0] == found[-1] == b"none"
                assert set(found[1:-1]) == {b"x"}
