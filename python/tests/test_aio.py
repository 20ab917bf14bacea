"""asyncio: calls on threads, ranges, feeds, cancels and closes."""

import asyncio
import inspect
import threading
import time

import pytest

import foldb
import foldb.aio


def running(test):
    """Runs a coroutine function as a test, and checks that it leaves no thread behind."""

    def run(tmp_path):
        before = threading.active_count()
        asyncio.run(test(tmp_path / "db"))
        assert threading.active_count() == before, threading.enumerate()
        foldb.open(tmp_path / "db").close()

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@running
async def test_the_everyday_calls(path):
    async with foldb.aio.open(path, keys="str", merge_operator="int64add") as db:
        await db.merge("a", 1)
        await asyncio.gather(*(db.merge("a", 1) for _ in range(50)))
        assert int.from_bytes(await db.get("a"), "little") == 51
        assert await db.get("b") is None and await db.contains("a") and await db.count() == 1
        assert await db.first() == await db.last() and db.merge_operator == "int64add"
        pages = await db.keyspace("pages", keys="str")
        await pages.update({"x": b"1", "y": b"2"})
        assert await pages.multi_get(["x", "z", "y"]) == [b"1", None, b"2"]
        assert await pages.compare_and_swap("x", b"1", b"3") and await pages.pop("x") == b"3"
        with pytest.raises(KeyError):
            await pages.pop("x")
        with pytest.raises(TypeError, match="key"):
            await pages.get(1)
        assert await db.keyspaces() == ["default", "pages"] and (await db.stats())["merges"] == 51
        assert db.blocking["a"] == await db.get("a") and db.path == path and not db.read_only
        await db.flush()
        assert await db.verify() > 0
    assert db.closed and "aio" not in {thread.name[:9] for thread in threading.enumerate()}


@running
async def test_an_open_is_awaited_too(path):
    db = await foldb.aio.open(path)
    await db.put(b"a", b"1")
    await db.close()
    await db.close()
    with pytest.raises(foldb.Closed) as error:
        await db.get(b"a")
    assert error.value.kind == "Closed"
    with pytest.raises(ValueError, match="threads"):
        foldb.aio.open(path, threads=0)
    with pytest.raises(foldb.InvalidArgument, match="no_such"):
        await foldb.aio.open(path, no_such=1)


@running
async def test_values_with_meaning(path):
    async with foldb.aio.open(path, keys="str", merge_operator="int64add") as db:
        counts = db.counters()
        await counts.add("a", 2)
        await counts.update(["a", "b", "b"])
        assert await counts.get("a") == 3 and await counts.get("z") == 0
        assert await counts.most_common(1) == [("a", 3)] and await counts.total() == 5
        assert [pair async for pair in counts.items()] == [("a", 3), ("b", 2)]
        sets = (await db.keyspace("sets", keys="str", merge_operator="set")).sets()
        await sets.add("ann", b"1")
        assert await sets.get("ann") == {b"1"} and await sets.get("bob") == set()
        last = (await db.keyspace("last", keys="str", merge_operator="listlast:2")).lists()
        await last.append("ann", b"1")
        await last.extend("ann", [b"2", b"3"])
        assert await last.get("ann") == (b"2", b"3")
        seen = (await db.keyspace("seen", keys="str", merge_operator="hyperloglog")).hyperloglogs()
        await seen.add("home", b"ann", b"bob")
        assert round(await seen.get("home")) == 2


@running
async def test_ranges_read_a_bounded_number_ahead(path):
    async with foldb.aio.open(path, keys="int") as db:
        await db.update({number: b"%d" % number for number in range(3000)})
        assert [key async for key in db] == list(range(3000))
        assert [key async for key in db.keys(5, 8, reverse=True)] == [7, 6, 5]
        assert [value async for value in db.values(stop=2)] == [b"0", b"1"]
        most, entries = 0, db.items()
        async for key, value in entries:
            assert value == b"%d" % key
            most = max(most, len(entries._ready))
        assert most == 255
        for number in range(20):
            await db.put(number, bytes(1 << 20))
        entries = db.items()
        assert (await entries.__anext__())[0] == 0 and len(entries._ready) == 0
        await entries.aclose()
        assert [key async for key in entries] == []
        with pytest.raises(TypeError, match="start"):
            await db.keys("x").__anext__()


@running
async def test_a_cancelled_step_of_a_range_loses_no_entry(path):
    async with foldb.aio.open(path, keys="int") as db:
        await db.update({number: b"" for number in range(2000)})
        entries, seen = db.keys(), []

        async def read():
            async for key in entries:
                seen.append(key)

        while not seen or seen[-1] < 1999:
            task = asyncio.ensure_future(read())
            await asyncio.sleep(0.0005)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert seen == list(range(2000))


@running
async def test_batches_and_snapshots(path):
    async with foldb.aio.open(path, keys="str", merge_operator="int64add") as db:
        pages = await db.keyspace("pages", keys="str")
        async with db.batch() as batch:
            batch.merge("a", 1)
            batch.put("x", b"1", keyspace=pages)
            assert len(batch) == 2 and await pages.get("x") is None
        assert await pages.get("x") == b"1"
        with pytest.raises(ZeroDivisionError):
            async with pages.batch() as batch:
                batch["y"] = b"1"
                1 / 0
        assert not await pages.contains("y")
        async with db.snapshot() as before:
            await pages.put("x", b"2")
            then = await before.keyspace(pages)
            assert await then.get("x") == b"1" and [key async for key in then] == ["x"]
        with pytest.raises(foldb.Closed):
            await before.get("a")
        with pytest.raises(RuntimeError, match="async with"):
            await db.snapshot().get("a")


@running
async def test_transactions(path):
    async with foldb.aio.open(path, keys="str") as db:
        await db.put("n", b"0")

        def add(tx):
            tx["n"] = b"%d" % (int(tx["n"]) + 1)
            return "done"

        assert set(await asyncio.gather(*(db.transact(add) for _ in range(20)))) == {"done"}
        assert await db.get("n") == b"20"
        async with db.transaction() as tx:
            await tx.put("m", b"1")
            assert await tx.get("m") == b"1" and not await db.contains("m")
            assert [key async for key, _ in tx.items()] == ["m", "n"]
        assert await db.contains("m")
        with pytest.raises(foldb.Conflict):
            async with db.transaction() as tx:
                await tx.put("n", await tx.get("n") + b"1")
                await db.put("n", b"9")

        async def wrong(tx):
            pass

        with pytest.raises(TypeError, match="work"):
            await db.transact(wrong)


@running
async def test_a_cancelled_transact_commits_nothing(path):
    async with foldb.aio.open(path) as db:
        began, go = threading.Event(), threading.Event()

        def work(tx):
            tx[b"a"] = b"1"
            began.set()
            go.wait()

        task = asyncio.ensure_future(db.transact(work))
        while not began.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        await asyncio.sleep(0.05)
        assert not await db.contains(b"a")


@running
async def test_the_feed_follows_and_a_cancel_ends_it(path):
    async with foldb.aio.open(path, threads=1, wal_retention_bytes=1 << 20) as db:
        position, got = await db.position(), []

        async def follow(updates):
            async for update in updates:
                got.append((updates.position == update.position, update.writes[0].key))

        feeds = [db.updates(position) for _ in range(3)]
        tasks = [asyncio.ensure_future(follow(feed)) for feed in feeds]
        for key in (b"a", b"b"):
            await db.put(key, b"1", sync=True)
            await asyncio.sleep(0.05)
        for _ in range(100):
            if len(got) == 6:
                break
            await asyncio.sleep(0.05)
        assert sorted(got) == 3 * [(True, b"a")] + 3 * [(True, b"b")]
        tasks[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]
        await feeds[0].aclose()
        ended = [update async for update in db.updates(position, follow=False)]
        assert [update.writes[0].key for update in ended] == [b"a", b"b"]
    results = await asyncio.gather(*tasks[1:], return_exceptions=True)
    assert [type(result) for result in results] == 2 * [foldb.Closed]


@running
async def test_close_waits_for_calls_that_were_cancelled(path):
    async with foldb.aio.open(path, threads=2) as db:
        began, ended = threading.Event(), []

        def slow(tx):
            began.set()
            time.sleep(0.3)
            ended.append(True)

        tasks = [asyncio.ensure_future(db.transact(slow)) for _ in range(2)]
        queued = asyncio.ensure_future(db.put(b"a", b"1"))
        while not began.is_set():
            await asyncio.sleep(0.001)
        for task in [*tasks, queued]:
            task.cancel()
    assert ended == [True, True]
    results = await asyncio.gather(*tasks, queued, return_exceptions=True)
    assert [type(result) for result in results] == 3 * [asyncio.CancelledError]
    # The lock is free, and the queued call never ran.
    async with foldb.aio.open(path) as db:
        assert not await db.contains(b"a")


@running
async def test_a_cancel_during_open_and_close_leaves_nothing_open(path):
    for moment in (0, 0, 1, 2, 3):

        async def use():
            async with foldb.aio.open(path) as db:
                await db.put(b"a", b"1")
                await asyncio.sleep(0)

        task = asyncio.ensure_future(use())
        for _ in range(moment):
            await asyncio.sleep(0.002)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        foldb.open(path).close()

    db = await foldb.aio.open(path)
    task = asyncio.ensure_future(db.close())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    foldb.open(path).close()


def test_asyncio_has_every_call():
    def public(cls):
        return {name for name in dir(cls) if not name.startswith("_")}

    pairs = [("Database", {"plot"}), ("Keyspace", {"plot"}), ("Reader", set()), ("Batch", set())]
    pairs += [("Snapshot", set()), ("Transaction", set()), ("Counters", {"keyspace", "keys", "values"})]
    for name, other in pairs:
        ours, blocking = getattr(foldb.aio, name), getattr(foldb, name)
        assert public(blocking) - public(ours) == other, name
        for call in public(ours):
            assert getattr(ours, call).__doc__, (name, call)
    assert "operator" in inspect.signature(foldb.aio.Keyspace.merge).parameters


@running
async def test_many_at_once(path):
    async with foldb.aio.open(path, keys="int", merge_operator="int64add") as db:
        assert await db.merge_many([3, 1, 3], [1, 1, 1]) == 3
        assert await db.put_many([7, 8], [70, 80]) == 2
        assert (await db.get_many([3, 8])).to_list() == [2, 80]
        assert len(await db.counters().top(2)) == 2
        tables, scan = [], db.scan(batch_rows=2)
        async for table in scan:
            tables.append(len(table))
            assert len(scan._ready) == 0
        assert tables == [2, 2]
