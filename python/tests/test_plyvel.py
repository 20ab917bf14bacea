"""The interface of plyvel over foldb."""

import os

import pytest

import foldb
import foldb.plyvel as plyvel


@pytest.fixture
def db(tmp_path):
    with plyvel.DB(str(tmp_path / "db"), create_if_missing=True) as db:
        yield db


def fill(db, *keys):
    for key in keys:
        db.put(key, b"v" + key)


def test_an_open_creates_only_on_demand(tmp_path):
    path = str(tmp_path / "db")
    with pytest.raises(plyvel.Error):
        plyvel.DB(path)
    plyvel.DB(path, create_if_missing=True).close()
    with pytest.raises(plyvel.Error):
        plyvel.DB(path, error_if_exists=True)
    with plyvel.DB(path, lru_cache_size=1 << 20, bloom_filter_bits=10, compression=None) as db:
        assert db.name == path and not db.closed
        with pytest.raises(plyvel.IOError):
            plyvel.DB(path)
    assert db.closed
    with pytest.raises(RuntimeError):
        db.get(b"a")


def test_wrong_options_are_named(tmp_path):
    for options, kind in [
        ({"compression": "zip"}, ValueError),
        ({"block_size": "4k"}, TypeError),
        ({"comparator": min}, ValueError),
        ({"comparator": 5, "comparator_name": b"x"}, TypeError),
    ]:
        with pytest.raises(kind, match=next(iter(options))):
            plyvel.DB(str(tmp_path / "db"), create_if_missing=True, **options)
    assert not (tmp_path / "db").exists()


def test_values_and_defaults(db):
    db.put(b"a", bytearray(b"1"), sync=True)
    assert db.get(b"a", fill_cache=False) == b"1" and db.get(b"b") is None
    assert db.get(b"b", b"?") == b"?" and db.get(b"b", default=0) == 0
    db.delete(b"a")
    db.delete(b"a", sync=True)
    for key in ("a", 1, None):
        with pytest.raises(TypeError):
            db.get(key)


def test_an_iterator_yields_what_was_asked_for(db):
    fill(db, b"a", b"b")
    assert list(db) == [(b"a", b"va"), (b"b", b"vb")]
    assert list(db.iterator(include_value=False)) == [b"a", b"b"]
    assert list(db.iterator(include_key=False, reverse=True)) == [b"vb", b"va"]
    assert list(db.iterator(include_key=False, include_value=False)) == [None, None]


def test_an_iterator_keeps_to_its_range(db):
    fill(db, b"a", b"b", b"c", b"d")

    def keys(**asked):
        return b"".join(db.iterator(include_value=False, **asked))

    assert keys(start=b"b") == b"bcd" and keys(start=b"b", include_start=False) == b"cd"
    assert keys(stop=b"c") == b"ab" and keys(stop=b"c", include_stop=True) == b"abc"
    assert keys(start=b"b", stop=b"d", reverse=True) == b"cb" and keys(prefix=b"c") == b"c"
    assert keys(start=b"x") == b"" and keys(start=b"d", stop=b"a") == b""
    with pytest.raises(TypeError, match="prefix"):
        db.iterator(prefix=b"a", stop=b"b")


@pytest.mark.parametrize("reverse", [False, True])
def test_the_place_of_an_iterator_is_between_two_entries(db, reverse):
    fill(db, b"a", b"b", b"c")
    keys = db.iterator(include_value=False, reverse=reverse)
    assert next(keys) == keys.prev()
    keys.seek_to_start()
    ends = [keys.prev, lambda: next(keys)]
    with pytest.raises(StopIteration):
        ends[reverse]()
    assert ends[not reverse]() == b"a"
    keys.seek(b"bb")
    assert (keys.prev() if reverse else next(keys)) == b"c"
    keys.seek_to_stop()
    assert (next(keys) if reverse else keys.prev()) == b"c"


def test_a_batch_is_written_after_an_exception_unless_it_is_a_transaction(db):
    for transaction in (False, True):
        with pytest.raises(ZeroDivisionError):
            with db.write_batch(transaction=transaction) as batch:
                batch.put(b"t%d" % transaction, b"")
                1 / 0
    assert db.get(b"t0") == b"" and db.get(b"t1") is None
    one, two = db.write_batch(), db.write_batch(sync=True)
    one.put(b"one", b"1")
    two.delete(b"t0")
    before = two.approximate_size()
    two.append(one)
    assert two.approximate_size() > before
    two.write()
    assert list(db) == [(b"one", b"1")]
    one.clear()
    one.write()


def test_a_prefixed_database_shows_its_part(db):
    fill(db, b"a1", b"b1", b"b2", b"c1")
    part = db.prefixed_db(b"b")
    assert part.db is db and part.prefix == b"b" and part.get(b"1") == b"vb1"
    assert list(part.iterator(include_value=False)) == [b"1", b"2"]
    assert list(part.iterator(start=b"2")) == [(b"2", b"vb2")]
    keys = part.iterator(include_value=False)
    keys.seek(b"2")
    assert next(keys) == b"2" and next(keys, None) is None
    with part.write_batch() as batch:
        batch.put(b"3x", b"new")
        batch.delete(b"1")
    inner = part.prefixed_db(b"3")
    assert db.get(b"b3x") == b"new" and list(inner) == [(b"x", b"new")] and db.get(b"b1") is None
    before = part.snapshot()
    part.delete(b"2")
    assert before.get(b"2") == b"vb2" and list(before.iterator(prefix=b"3")) == [(b"3x", b"new")]


def test_snapshots_close(db):
    fill(db, b"a")
    with db.snapshot() as before:
        db.delete(b"a")
        assert before.get(b"a") == b"va" and list(before) == [(b"a", b"va")]
    with pytest.raises(RuntimeError):
        before.get(b"a")
    before.release()


def test_a_raw_iterator_moves_as_one_of_leveldb(db):
    fill(db, b"a", b"c")
    with db.raw_iterator() as cursor:
        assert not cursor.valid()
        cursor.seek(b"b")
        assert cursor.item() == (b"c", b"vc")
        cursor.prev()
        assert cursor.key() == b"a"
        cursor.prev()
        for call in (cursor.key, cursor.value, cursor.next, cursor.prev):
            with pytest.raises(plyvel.IteratorInvalidError):
                call()
        cursor.seek_to_last()
        assert cursor.value() == b"vc"
    with pytest.raises(RuntimeError):
        cursor.valid()


def test_maintenance(db, tmp_path):
    fill(db, b"a", b"b")
    db.compact_range()
    db.compact_range(start=b"a", stop=b"b")
    assert db.approximate_sizes((b"a", b"b"), (b"x", b"y"))[1] == 0
    assert isinstance(db.get_property(b"leveldb.stats"), bytes)
    assert db.get_property(b"leveldb.num-files-at-level0").isdigit()
    assert db.get_property(b"leveldb.other") is None
    db.close()
    plyvel.repair_db(db.name)
    with plyvel.DB(db.name) as again:
        assert again.get(b"a") == b"va"
    plyvel.destroy_db(db.name)
    assert not (tmp_path / "db").exists()


def test_a_comparator(tmp_path):
    def no_case(a, b):
        a, b = a.lower(), b.lower()
        return (a > b) - (a < b)

    path, order = str(tmp_path / "db"), {"comparator": no_case, "comparator_name": b"no-case"}
    with plyvel.DB(path, create_if_missing=True, **order) as db:
        fill(db, b"b", b"C", b"A")
        db.put(b"B", b"again")
        assert list(db.iterator(include_value=False)) == [b"A", b"B", b"C"]
        assert db.get(b"c") == b"vC" and db.iterator(start=b"B").__next__() == (b"B", b"again")
        db.compact_range()
        assert [key for key, _ in db.iterator(start=b"b", reverse=True)] == [b"C", b"B"]
    with pytest.raises(plyvel.Error, match="no-case"):
        plyvel.DB(path)
    plyvel.repair_db(path, **order)
    with plyvel.DB(path, **order) as db:
        assert db.get(b"a") == b"vA"
    plyvel.destroy_db(path)


def test_a_comparator_that_raises(tmp_path):
    def picky(a, b):
        if b"" in (a, b):
            raise ValueError("empty")
        return (a > b) - (a < b)

    with plyvel.DB(
        str(tmp_path / "db"), create_if_missing=True, comparator=picky, comparator_name=b"picky"
    ) as db:
        db.put(b"a", b"1")
        for call in (lambda: db.put(b"", b""), lambda: db.get(b""), lambda: db.raw_iterator().seek(b"")):
            with pytest.raises(plyvel.Error, match="empty"):
                call()
        assert db.get(b"a") == b"1"


def test_corners_that_differed(tmp_path):
    path = os.fsencode(tmp_path / "db")
    db = plyvel.DB(path, create_if_missing=True)
    assert db.name == path and repr(path) in repr(db)
    assert not hasattr(db.prefixed_db(b"a"), "raw_iterator")
    batch = db.write_batch()
    batch.put(b"a", b"1")
    batch.append(batch)
    batch.write()
    assert list(db) == [(b"a", b"1")] and db.snapshot().raw_iterator() is not None
    batch.put(b"b", b"2")
    db.close()
    for call in (db.write_batch, batch.clear, batch.write):
        with pytest.raises(RuntimeError):
            call()
