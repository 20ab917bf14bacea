"""Counts, sets, lists and sketches."""

import collections
import collections.abc
import copy
import json
import math
import operator
import pickle

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
        assert seen[b"ann"] == (b"2", b"3", b"4") and seen[b"bob"] == ()


def test_hyperloglogs(tmp_path):
    with foldb.open(tmp_path / "db", merge_operator="hyperloglog") as db:
        visitors = db.hyperloglogs()
        visitors.add(b"page", b"ann", b"bob")
        visitors.update(b"page", [b"%d" % number for number in range(10_000)])
        assert abs(visitors[b"page"] - 10_002) < 400 and visitors[b"other"] == 0


@pytest.fixture
def amounts(counts):
    counts.update({"a": 5, "b": -7, "c": 1})
    return counts


def test_counts_are_a_mapping_for_reading(amounts, tmp_path):
    expected = {"a": 5, "b": -7, "c": 1}
    assert isinstance(amounts, collections.abc.Mapping)
    assert list(amounts.values()) == [5, -7, 1] and list(reversed(amounts)) == ["c", "b", "a"]
    assert list(amounts.values("b")) == [-7, 1]
    assert dict(amounts.items()) == expected and all(type(n) is int for n in amounts.values())
    assert amounts == expected and expected == amounts and amounts != {} and not amounts == 5
    assert dict(amounts) == expected and max(amounts.items(), key=lambda item: item[1]) == ("a", 5)
    assert collections.Counter(amounts) == expected
    held = amounts.copy()
    assert type(held) is collections.Counter and json.loads(json.dumps(held)) == expected
    amounts["a"] += 1
    assert held == expected and amounts == {**expected, "a": 6}
    counter = collections.Counter({"a": 1})
    counter.update(amounts)
    assert counter == {"a": 7, "b": -7, "c": 1} and all(type(n) is int for n in counter.values())


def test_counts_are_added_to_other_counts(amounts):
    # Of `dict(counts)` the numbers were still to be read, and their addition failed.
    path = str(amounts.keyspace.path) + "2"
    with foldb.open(path, keys="str", merge_operator="int64add") as db:
        other = db.counters()
        other.update(amounts)
        other.update(amounts)
        assert other == {"a": 10, "b": -14, "c": 2}
        other.subtract(amounts)
        assert other == amounts


def test_counts_are_taken_and_set(amounts):
    assert amounts.pop("a") == 5 and type(amounts.pop("b")) is int and "a" not in amounts
    assert amounts.pop("a", None) is None and amounts.pop("a", 3) == 3
    with pytest.raises(KeyError):
        amounts.pop("a")
    with pytest.raises(TypeError, match="default"):
        amounts.pop("a", 1, 2)
    assert amounts.setdefault("c", 9) == 1 and amounts.setdefault("d", 9) == 9
    assert amounts.setdefault("e") == 0 and amounts == {"c": 1, "d": 9, "e": 0}
    amounts.clear()
    assert len(amounts) == 0 and amounts == {}


def test_most_common_of_a_number_below_0_is_empty(amounts):
    assert amounts.most_common(-1) == collections.Counter({"a": 5}).most_common(-1) == []


def test_a_value_that_is_no_count_is_corruption(amounts):
    amounts.keyspace["b"] = b"abc"
    for call in (amounts.items, amounts.values):
        with pytest.raises(foldb.Corruption, match="8 bytes.*'b'.*3") as error:
            list(call())
        assert error.value.kind == "Corruption"
    for call in (amounts.most_common, amounts.total, amounts.copy, lambda: amounts.pop("b"),
                 lambda: int(amounts["b"])):
        amounts.keyspace["b"] = b"abc"
        with pytest.raises(foldb.Corruption, match="8 bytes"):
            call()


BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift",
          "rshift", "eq", "ne", "lt", "le", "gt", "ge"]


@pytest.mark.parametrize("name", [*BINARY, "divmod"])
def test_a_count_has_the_operators_of_int(counts, name):
    call = divmod if name == "divmod" else getattr(operator, name)
    counts.update({"seven": 7, "three": 3})
    seven, three = counts["seven"], counts["three"]
    expected = call(7, 3)
    for left, right in ((seven, 3), (7, three), (seven, three)):
        assert call(left, right) == expected and type(call(left, right)) is type(expected)


def test_a_count_has_the_calls_of_int(counts):
    counts["a"] -= 7
    count = counts["a"]
    assert (-count, +count, ~count, abs(count), round(count), round(count, -1)) == (7, -7, 6, 7, -7, -10)
    assert math.trunc(count) == math.floor(count) == math.ceil(count) == -7 and complex(count) == -7
    assert pow(count, 2, 10) == 9 and count.bit_length() == 3 and count.to_bytes(1, "big", signed=True)
    assert type(copy.copy(count)) is int and pickle.loads(pickle.dumps(count)) == -7
    with pytest.raises(TypeError):
        count + "x"
    with pytest.raises(AttributeError):
        count.nothing
    assert not hasattr(count, "__array__")


def test_a_count_is_added_to_itself(counts):
    counts["a"] += 5
    held = counts["a"]
    held += held
    assert held == 10 and counts["a"] == 5
    counts["a"] += counts["a"]
    assert counts["a"] == 10


def test_handles_say_why_they_cannot_be_pickled(counts):
    db = counts.keyspace
    for handle in (counts, db.batch(), db.snapshot(), db):
        with pytest.raises(TypeError, match="read_only=True"):
            pickle.dumps(handle)


def test_the_reads_of_sets_lists_and_sketches(tmp_path):
    """A change of what a read returns would be lost without a word, so nothing can change it."""
    with foldb.open(tmp_path / "db", keys="str", merge_operator="set") as db:
        tags = db.sets()
        tags.add("car", b"red")
        tags.add("bus", b"blue")
        assert type(tags["car"]) is frozenset and tags["car"] == {b"red"} and tags["x"] == frozenset()
        assert tags.get("car") == {b"red"} and tags.get("x") is None and tags.get("x", 1) == 1
        assert list(tags.keys()) == ["bus", "car"] and list(tags.values()) == [{b"blue"}, {b"red"}]
        assert list(tags.values("c")) == [{b"red"}]
        for call in (lambda: tags.add("car", "red"), lambda: tags.discard("car", "red")):
            with pytest.raises(TypeError, match="(element|member): expected bytes, not str: encode it"):
                call()
        with pytest.raises(TypeError, match="read_only=True"):
            pickle.dumps(tags)
        sketches = db.keyspace("sketches", merge_operator="hyperloglog").hyperloglogs()
        sketches.add(b"a", b"x")
        assert round(sketches.get(b"a")) == 1 and sketches.get(b"b") is None
        assert list(map(round, sketches.values())) == [1] and list(sketches.keys()) == [b"a"]


def test_lists_of_the_last_elements(tmp_path):
    with foldb.open(tmp_path / "db") as db:
        three = db.keyspace("three", merge_operator="listlast:3")
        seen = three.lists(last=3)
        seen.extend(b"ann", [b"1", b"2", b"3", b"4"])
        assert seen[b"ann"] == (b"2", b"3", b"4") and seen.get(b"bob") is None
        assert three.lists()[b"ann"] == (b"2", b"3", b"4")
        every = db.keyspace("every", merge_operator="list")
        for keyspace in (three, every, db):
            with pytest.raises(foldb.InvalidArgument, match="merge_operator=") as error:
                keyspace.lists(last=2)
            assert error.value.kind == "InvalidArgument"
        with pytest.raises(TypeError, match="last"):
            three.lists(last="3")
