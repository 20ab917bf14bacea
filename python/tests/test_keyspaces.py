"""What a keyspace takes from its database: whether writes are synced, and no operator."""

import pytest

import foldb


def synced(db):
    return db.stats()["latencies"].get("synced_write", {"sampled": 0})["sampled"]


@pytest.mark.parametrize("sync", [False, True])
def test_every_write_of_an_open_with_sync_is_synced(tmp_path, sync):
    # The figure leaves out writes that expire, and the sync at the end of `put_many`.
    options = {"keys": "str", "merge_operator": "int64add"}
    with foldb.open(tmp_path / "db", sync=sync, **options) as db:
        calls = {
            "setitem": lambda: db.__setitem__("a", 1),
            "pop": lambda: db.pop("a"),
            "setdefault": lambda: db.setdefault("b", 1),
            "popitem": lambda: db.popitem(),
            "put": lambda: db.put("c", 1),
            "take_first": lambda: db.take_first(),
            "put_if_absent": lambda: db.put_if_absent("d", 1),
            "compare_and_swap": lambda: db.compare_and_swap("d", 1, 2),
            "merge": lambda: db.merge("d", 1),
            "merge_get": lambda: db.merge_get("d", 1),
            "delitem": lambda: db.__delitem__("d"),
            "delete": lambda: db.delete("d"),
            "delete_range": lambda: db.delete_range("a", "b"),
            "update": lambda: db.update({"e": 1}),
            "counters": lambda: db.counters().add("e"),
            "count": lambda: db.counters().__setitem__("e", 1),
            "counts": lambda: db.counters().update(["e"]),
            "transact": lambda: db.transact(lambda tx: tx.put("e", 1)),
            "clear": lambda: db.clear(),
        }
        unlike = {}
        for name, call in calls.items():
            before = synced(db)
            call()
            if (synced(db) > before) != sync:
                unlike[name] = synced(db) - before
        assert not unlike


def test_a_new_keyspace_has_only_the_operator_that_it_is_given(tmp_path):
    with foldb.open(tmp_path / "db", keys="str", merge_operator="int64add") as db:
        pages = db.keyspace("pages", keys="str")
        none = db.keyspace("none", merge_operator=None)
        sums = db.keyspace("sums", merge_operator="uint64add")
        assert pages.merge_operator is None and none.merge_operator is None
        assert sums.merge_operator == "uint64add" and db.merge_operator == "int64add"
        pages["home"] = b"<html>"
        assert pages.get_many(["home"]).to_list() == [b"<html>"]
        with pytest.raises(TypeError, match="value"):
            pages["n"] = 7
        with pytest.raises(foldb.InvalidArgument):
            pages.merge("home", b"x")
    with foldb.open(tmp_path / "db", merge_operator="int64add") as db:
        assert db.keyspace("pages").merge_operator is None and db.keyspace("pages")["home"] == b"<html>"
        assert db.keyspace("sums").merge_operator == "uint64add"
