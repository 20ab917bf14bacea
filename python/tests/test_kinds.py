"""Documents, statistics, best items, histograms; sorted loads; snapshots of what is only read."""

import collections.abc
import json

import pytest

import foldb


def test_documents(tmp_path):
    with foldb.open(tmp_path / "db", keys="str", merge_operator="json_merge_patch") as db:
        docs = db.json()
        docs["a"] = {"name": "Ann", "tags": ["x"], "home": {"city": "Oslo", "zip": 1}}
        assert docs["a"]["home"] == {"city": "Oslo", "zip": 1}
        docs.patch("a", {"home": {"zip": None}, "age": 36})
        docs.patch("new", {"age": 1, "gone": None})
        assert docs["a"] == {"name": "Ann", "tags": ["x"], "home": {"city": "Oslo"}, "age": 36}
        assert docs["new"] == {"age": 1}
        assert isinstance(docs, collections.abc.MutableMapping)
        assert docs.get("none") is None and "none" not in docs and len(docs) == 2
        with pytest.raises(KeyError):
            docs["none"]
        assert dict(docs.items("b")) == {"new": {"age": 1}} and list(docs) == ["a", "new"]
        assert list(docs.values(reverse=True))[0] == {"age": 1}
        docs.update({"b": [1, 2.5, None], "c": "text"})
        assert docs.pop("b") == [1, 2.5, None] and docs.setdefault("c", 1) == "text"
        del docs["c"]
        # What a put writes is what a fold of it writes.
        docs["z"] = {"é": 1, "a": 1.5}
        before = db["z"]
        docs.patch("z", {})
        assert db["z"] == before == json.dumps({"a": 1.5, "é": 1}, ensure_ascii=False,
                                               separators=(",", ":")).encode()
        for wrong, error in (({1, 2}, TypeError), (float("nan"), ValueError)):
            with pytest.raises(error, match="document"):
                docs["bad"] = wrong
            with pytest.raises(error, match="changes"):
                docs.patch("bad", {"a": wrong})
    with foldb.open(tmp_path / "plain") as db, pytest.raises(foldb.InvalidArgument, match="Documents"):
        db.json()


def test_statistics(tmp_path):
    with foldb.open(tmp_path / "db", keys="str", merge_operator="stats") as db:
        times = db.summaries()
        assert times["a"].count == 0 and times["a"].mean is None
        times.add("a", 7, -30)
        times.update("a", range(3))
        found = times["a"]
        assert (found.count, found.sum, found.min, found.max, found.mean) == (5, -20, -30, 7, -4.0)
        times.update("big", [2**63 - 1] * 3)
        assert times["big"].sum == 3 * (2**63 - 1)
        assert [key for key, _ in times.items()] == ["a", "big"]
        for wrong, error in ((1.5, TypeError), (2**63, OverflowError)):
            with pytest.raises(error, match="sample"):
                times.add("a", wrong)


def test_best_items(tmp_path):
    with foldb.open(tmp_path / "db", merge_operator="top:2") as db:
        scores = db.tops()
        assert scores[b"game"] == []
        scores.add(b"game", b"ann", 3)
        scores.update(b"game", [(b"bob", 7), (b"eve", -1)])
        scores.add(b"game", b"ann", 9)
        assert scores[b"game"] == [(b"ann", 9), (b"bob", 7)]
        with pytest.raises(TypeError, match="item"):
            scores.add(b"game", "ann", 3)
        with pytest.raises(TypeError, match="score"):
            scores.add(b"game", b"ann", 3.5)


def test_histograms(tmp_path):
    with foldb.open(tmp_path / "db", merge_operator="histogram:1") as db:
        latency = db.histograms()
        assert latency[b"a"].count == 0 and latency[b"a"].quantile(0.5) is None
        latency.update(b"a", (i / 1000 for i in range(1, 1001)))
        latency.add(b"a", 0.5)
        found = latency[b"a"]
        assert found.count == 1001 and abs(found.quantile(0.99) - 0.99) < 0.01
        low, high = found.bounds
        assert low <= 0.001 and high >= 1.0 and "p99" in repr(found)
        with pytest.raises(TypeError, match="sample"):
            latency.add(b"a", "fast")
        with pytest.raises(foldb.InvalidArgument):
            found.quantile(2)


def test_a_sorted_load(tmp_path):
    with foldb.open(tmp_path / "db", keys="int", merge_operator="int64add") as db:
        db[5] = 100
        assert db.load((i, i) for i in range(5000)) == 5000
        assert db.load((i, 1) for i in range(-3, 5000) if i % 2) == 2502
        assert db.load([], merge=True) == 0
        assert db.load(((i, 10) for i in range(10)), merge=True) == 10
        counts = db.counters()
        assert (len(db), counts[5], counts[4], counts[-3]) == (5002, 11, 14, 1)
        assert db.stats()["bytes_log"] < 100_000


def test_a_load_names_the_first_key_out_of_order(tmp_path):
    with foldb.open(tmp_path / "db", keys=("str", "int")) as db:
        entries = [(("a", i), b"") for i in range(2000)] + [(("a", 7), b""), (("a", 5), b"")]
        with pytest.raises(foldb.InvalidArgument, match=r"entries: key \('a', 7\)"):
            db.load(entries)
        assert len(db) == 0
        for wrong, error in (([("a", b"")], TypeError), ([(("a", 1), 5)], TypeError), (5, TypeError)):
            with pytest.raises(error):
                db.load(wrong)

        def failing():
            yield ("a", 1), b""
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            db.load(failing())
        assert len(db) == 0 and db.load([(("b", 1), b"x")]) == 1 and db["b", 1] == b"x"


def test_an_update_of_many_entries(tmp_path):
    with foldb.open(tmp_path / "db", keys="int") as db:
        db.update((i, b"%d" % i) for i in range(25_000))
        assert len(db) == 25_000 and db[24_999] == b"24999"
        db.update({1: b"one"})
        assert db[1] == b"one"


def test_a_snapshot_of_what_is_only_read(tmp_path):
    with foldb.open(tmp_path / "db", keys="str") as db:
        other = db.keyspace("other", keys="int")
        db["a"], other[1] = b"1", b"one"
        with foldb.open(tmp_path / "db", read_only=True) as reader:
            db["a"] = b"2"
            with reader.snapshot() as moment:
                assert moment["a"] == b"1" and list(moment.items()) == [("a", b"1")]
                assert moment.keyspace(reader.keyspace("other"))[1] == b"one"
                assert moment.merge_operator is None and moment.name == "default"
                entries = moment.items()
            for call in (lambda: moment["a"], lambda: next(entries), lambda: len(moment)):
                with pytest.raises(foldb.Closed):
                    call()
            with pytest.raises(foldb.InvalidArgument, match="keyspace"):
                reader.snapshot().keyspace(other)
            last = reader.snapshot()
        with pytest.raises(foldb.Closed):
            last["a"]
