"""Counts, sets, lists and sketches."""

import collections

import pytest

import foldb


@pytest.fixture
def counts(tmp_path):
    with foldb.open(tmp_path / "db", keys="str", merge_operator="int64add") as db:
        yield db.counters()


def test_an_addition_reads_nothing(counts):
    counts["a"] += 1
    counts["a"] += 4
    counts["a"] -= 2
    stats = counts.keyspace
    assert counts["a"] == 3 and int(counts["a"]) == 3 and counts.get("a") == 3
    assert counts.get("b") is None and counts["b"] == 0 and "b" not in counts
    counts["a"] = 10
    assert counts["a"] == 10


def test_a_count_behaves_like_its_number(counts):
    counts["a"] += 7
    count = counts["a"]
    assert count == 7 and count < 8 and 6 < count and count != 8
    assert count + 1 == 8 and 1 + count == 8 and count - 1 == 6 and 10 - count == 3
    assert count * 2 == 14 and 2 * count == 14 and count / 7 == 1.0 and 14 / count == 2
    assert -count == -7 and str(count) == repr(count) == f"{count}" == "7" and f"{count:03}" == "007"
    assert bool(count) and list(range(count)) == list(range(7)) and float(count) == 7.0
    assert hash(count) == hash(7) and counts["a"] + counts["a"] == 14 and sum([count]) == 7


def test_the_count_of_one_key_is_no_addition_to_another(counts):
    counts["a"] += 5
    counts["b"] = counts["a"]
    assert counts["b"] == 5
    held = counts["a"]
    held += 2
    counts["c"] = held
    assert counts["c"] == 7 and counts["a"] == 5


def test_update_counts_and_adds(counts):
    words = "the cat and the dog and the bird".split()
    counts.update(words)
    counts.update({"the": 10})
    counts.update(cat=2)
    counts.update()
    expected = collections.Counter(words)
    expected.update({"the": 10, "cat": 2})
    assert dict(counts.items()) == expected and counts.total() == expected.total() if hasattr(expected, "total") else True
    assert counts.most_common(2) == [("the", 13), ("cat", 3)]
    assert counts.most_common() == sorted(expected.items(), key=lambda item: (-item[1], item[0]))
    counts.subtract(["the"])
    assert counts["the"] == 12


def test_most_common_of_many(counts):
    counts.update({f"{number:06}": number for number in range(50_000)})
    assert counts.most_common(3) == [("049999", 49999), ("049998", 49998), ("049997", 49997)]
    assert counts.most_common(0) == []


def test_amounts_are_checked(counts):
    with pytest.raises(TypeError, match="amount"):
        counts["a"] += "x"
    with pytest.raises(OverflowError, match="amount"):
        counts["a"] += 1 << 63
    with pytest.raises(TypeError, match="amount"):
        counts["a"] = 1.5


def test_a_keyspace_without_the_operator_is_refused(tmp_path):
    with foldb.open(tmp_path / "db") as db:
        for call in (db.counters, db.sets, db.lists, db.hyperloglogs):
            with pytest.raises(foldb.InvalidArgument, match="merge_operator"):
                call()


def test_sets(tmp_path):
    with foldb.open(tmp_path / "db", merge_operator="set") as db:
        tags = db.sets()
        for tag in (b"red", b"blue", b"red"):
            tags.add(b"car", tag)
        assert tags[b"car"] == {b"red", b"blue"} and tags[b"bus"] == set()
        tags.discard(b"car", b"red")
        assert dict(tags.items()) == {b"car": {b"blue"}} and len(tags) == 1


def test_lists(tmp_path):
    with foldb.open(tmp_path / "db", merge_operator="listlast:3") as db:
        seen = db.lists()
        seen.append(b"ann", b"1")
        seen.extend(b"ann", [b"2", b"3", b"4"])
        assert seen[b"ann"] == [b"2", b"3", b"4"] and seen[b"bob"] == []


def test_hyperloglogs(tmp_path):
    with foldb.open(tmp_path / "db", merge_operator="hyperloglog") as db:
        visitors = db.hyperloglogs()
        visitors.add(b"page", b"ann", b"bob")
        visitors.update(b"page", [b"%d" % number for number in range(10_000)])
        assert abs(visitors[b"page"] - 10_002) < 400 and visitors[b"other"] == 0
