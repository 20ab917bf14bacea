"""The stores of the benchmark, each by its best idiom.

No store syncs, and every call that returned survives a kill of the process. What is given as a
column may be grouped before it is written, with NumPy or polars.
"""

from __future__ import annotations

import collections
import struct

LAST = 10
#: Bytes of cache that each store gets which has one of its own.
CACHE = 256 << 20
#: Bytes of a write buffer, as foldb's by default.
BUFFER = 64 << 20
NUMBER = struct.Struct("<q")


def counted(words):
    """Returns the different words of an array and how often each stands there."""
    import numpy

    different, counts = numpy.unique(words, return_counts=True)
    return zip(different.tolist(), counts.tolist())


def summed(frame):
    """Returns the different words of a frame and the sum of each."""
    sums = frame.group_by("word").sum()
    return zip(sums["word"].to_list(), sums["n"].to_list())


def by_key(keys, elements):
    """Returns the elements of each key, in their order."""
    groups = collections.defaultdict(list)
    for key, element in zip(keys.tolist(), elements.tolist()):
        groups[key].append(element)
    return groups


def appended(old, new):
    """Returns the last elements of a stored list with new ones behind it."""
    return b"\n".join(((old.split(b"\n") if old else []) + new)[-LAST:])


class Foldb:
    """foldb: blind merges."""

    def __init__(self, path):
        import foldb

        self.db = foldb.open(path + "/foldb", merge_operator="int64add", block_cache_size=CACHE)
        self.counts = self.db.counters()
        self.put, self.get = self.db.put, self.db.get

    def get_all(self, keys):
        get = self.db.get
        for key in keys:
            get(key)

    def scan(self):
        return sum(1 for _ in self.db.items())

    def count_each(self, words):
        counts = self.counts
        for word in words:
            counts[word] += 1

    def count_many(self, words):
        self.db.merge_many(words, 1)

    def count_frame(self, frame):
        self.db.merge_many(frame.group_by("word").sum())

    def total(self):
        return self.counts.total()

    def begin_visitors(self):
        self.visitors = self.db.keyspace("v", merge_operator="hyperloglog").hyperloglogs()

    def visit_each(self, events):
        add = self.visitors.add
        for page, visitor in events:
            add(page, visitor)

    def visit(self, pages, visitors):
        self.visitors.add_many(pages, visitors)

    def unique(self, pages):
        return [round(self.visitors[page]) for page in pages]

    def begin_last(self):
        self.last = self.db.keyspace("l", merge_operator=f"listlast:{LAST}").lists()

    def append_each(self, events):
        append = self.last.append
        for user, event in events:
            append(user, event)

    def append(self, users, events):
        self.last.append_many(users, events)

    def last_of(self, user):
        return list(self.last[user])


class Plyvel:
    """plyvel: LevelDB, read and written back."""

    def __init__(self, path):
        import plyvel

        self.db = plyvel.DB(
            path + "/plyvel",
            create_if_missing=True,
            lru_cache_size=CACHE,
            write_buffer_size=BUFFER,
            bloom_filter_bits=10,
        )
        self.put, self.get = self.db.put, self.db.get

    def batch(self):
        return self.db.write_batch()

    def get_all(self, keys):
        get = self.db.get
        for key in keys:
            get(key)

    def scan(self):
        return sum(1 for _ in self.db)

    def count_each(self, words):
        get, put, number = self.get, self.put, NUMBER
        for word in words:
            old = get(word)
            put(word, number.pack(1 if old is None else number.unpack(old)[0] + 1))

    def count_many(self, words):
        self.add(counted(words))

    def count_frame(self, frame):
        self.add(summed(frame))

    def add(self, amounts):
        with self.batch() as batch:
            for word, amount in amounts:
                old = self.get(word)
                batch.put(word, NUMBER.pack(amount + (NUMBER.unpack(old)[0] if old else 0)))

    def total(self):
        return sum(NUMBER.unpack(value)[0] for _, value in self.entries())

    def entries(self):
        return iter(self.db)

    def begin_visitors(self):
        pass

    def visit_each(self, events):
        put, pack = self.put, NUMBER.pack
        for page, visitor in events:
            put(page + pack(visitor), b"")

    def visit(self, pages, visitors):
        with self.batch() as batch:
            for page, visitor in zip(pages.tolist(), visitors.tolist()):
                batch.put(page + NUMBER.pack(visitor), b"")

    def unique(self, pages):
        counts = collections.Counter(key[:-8] for key, _ in self.entries())
        return [counts[page] for page in pages]

    def begin_last(self):
        pass

    def append_each(self, events):
        get, put = self.get, self.put
        for user, event in events:
            put(user, appended(get(user), [event]))

    def append(self, users, events):
        with self.batch() as batch:
            for user, new in by_key(users, events).items():
                batch.put(user, appended(self.get(user), new))

    def last_of(self, user):
        return self.get(user).split(b"\n")


class Rocksdict(Plyvel):
    """rocksdict: RocksDB, read and written back; it offers no merge operators."""

    def __init__(self, path):
        import rocksdict

        options = rocksdict.Options(raw_mode=True)
        table = rocksdict.BlockBasedOptions()
        table.set_block_cache(rocksdict.Cache(CACHE))
        table.set_bloom_filter(10, False)
        options.set_block_based_table_factory(table)
        options.set_write_buffer_size(BUFFER)
        self.db = rocksdict.Rdict(path + "/rocksdict", options)
        self.put, self.get = self.db.__setitem__, self.db.get

    class Batch:
        def __init__(self, db):
            import rocksdict

            self.db, self.batch = db, rocksdict.WriteBatch(raw_mode=True)
            self.put = self.batch.__setitem__

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.db.write(self.batch)

    def batch(self):
        return self.Batch(self.db)

    def entries(self):
        return self.db.items()

    def scan(self):
        return sum(1 for _ in self.db.items())


class Lmdb(Plyvel):
    """lmdb: one transaction for each call that must survive; reads share one."""

    def __init__(self, path):
        import lmdb

        options = dict(map_size=16 << 30, sync=False, metasync=False, writemap=True, max_dbs=2)
        self.env = lmdb.open(path + "/lmdb", **options)

    def put(self, key, value):
        with self.env.begin(write=True) as transaction:
            transaction.put(key, value)

    def get_all(self, keys):
        with self.env.begin() as transaction:
            get = transaction.get
            for key in keys:
                get(key)

    def scan(self):
        with self.env.begin() as transaction:
            return sum(1 for _ in transaction.cursor())

    def count_each(self, words):
        begin, number = self.env.begin, NUMBER
        for word in words:
            with begin(write=True) as transaction:
                old = transaction.get(word)
                count = 1 if old is None else number.unpack(old)[0] + 1
                transaction.put(word, number.pack(count))

    def add(self, amounts):
        with self.env.begin(write=True) as transaction:
            for word, amount in amounts:
                old = transaction.get(word)
                count = amount + (NUMBER.unpack(old)[0] if old else 0)
                transaction.put(word, NUMBER.pack(count))

    def entries(self):
        with self.env.begin() as transaction:
            yield from transaction.cursor()

    def begin_visitors(self):
        self.visitors = self.env.open_db(b"visitors", dupsort=True)

    def visit_each(self, events):
        begin, pack, db = self.env.begin, NUMBER.pack, self.visitors
        for page, visitor in events:
            with begin(write=True) as transaction:
                transaction.put(page, pack(visitor), db=db)

    def visit(self, pages, visitors):
        with self.env.begin(write=True) as transaction:
            cursor = transaction.cursor(self.visitors)
            rows = zip(pages.tolist(), map(NUMBER.pack, visitors.tolist()))
            cursor.putmulti(sorted(rows))

    def unique(self, pages):
        with self.env.begin() as transaction:
            cursor = transaction.cursor(self.visitors)
            return [cursor.count() if cursor.set_key(page) else 0 for page in pages]

    def append_each(self, events):
        begin = self.env.begin
        for user, event in events:
            with begin(write=True) as transaction:
                transaction.put(user, appended(transaction.get(user), [event]))

    def append(self, users, events):
        with self.env.begin(write=True) as transaction:
            for user, new in by_key(users, events).items():
                transaction.put(user, appended(transaction.get(user), new))

    def last_of(self, user):
        with self.env.begin() as transaction:
            return transaction.get(user).split(b"\n")


class Sqlite:
    """sqlite3: upserts; a log, and no syncs."""

    def __init__(self, path):
        import sqlite3

        self.db = sqlite3.connect(path + "/sqlite.db", isolation_level=None)
        for pragma in ("journal_mode=wal", "synchronous=off", f"cache_size=-{CACHE >> 10}"):
            self.db.execute("pragma " + pragma)
        self.db.execute("create table entries (key blob primary key, value blob) without rowid")
        self.db.execute("create table counts (word blob primary key, n int) without rowid")

    def put(self, key, value):
        self.db.execute("insert or replace into entries values (?, ?)", (key, value))

    def get_all(self, keys):
        execute = self.db.execute
        for key in keys:
            execute("select value from entries where key = ?", (key,)).fetchone()

    def scan(self):
        return sum(1 for _ in self.db.execute("select key, value from entries order by key"))

    UPSERT = "insert into counts values (?, ?) on conflict do update set n = n + excluded.n"

    def count_each(self, words):
        execute, upsert = self.db.execute, self.UPSERT
        for word in words:
            execute(upsert, (word, 1))

    def count_many(self, words):
        self.many(self.UPSERT, counted(words))

    def count_frame(self, frame):
        self.many(self.UPSERT, summed(frame))

    def total(self):
        return self.db.execute("select sum(n) from counts").fetchone()[0]

    def begin_visitors(self):
        self.db.execute("create table seen (p blob, v int, primary key (p, v)) without rowid")

    def many(self, statement, rows):
        self.db.execute("begin")
        self.db.executemany(statement, rows)
        self.db.execute("commit")

    def visit_each(self, events):
        execute = self.db.execute
        for event in events:
            execute("insert or ignore into seen values (?, ?)", event)

    def visit(self, pages, visitors):
        rows = zip(pages.tolist(), visitors.tolist())
        self.many("insert or ignore into seen values (?, ?)", rows)

    def unique(self, pages):
        counts = dict(self.db.execute("select p, count(*) from seen group by p"))
        return [counts.get(page, 0) for page in pages]

    def begin_last(self):
        # Old events stay: a read takes the last ones.
        self.db.execute("create table events (id integer primary key, user blob, event blob)")
        self.db.execute("create index by_user on events (user, id)")

    def append_each(self, events):
        execute = self.db.execute
        for event in events:
            execute("insert into events (user, event) values (?, ?)", event)

    def append(self, users, events):
        rows = zip(users.tolist(), events.tolist())
        self.many("insert into events (user, event) values (?, ?)", rows)

    def last_of(self, user):
        query = "select event from events where user = ? order by id desc limit ?"
        return [event for (event,) in self.db.execute(query, (user, LAST))][::-1]


class Diskcache:
    """diskcache: SQLite below a dict."""

    def __init__(self, path):
        import diskcache

        self.cache = diskcache.Cache(
            path + "/diskcache", eviction_policy="none", size_limit=1 << 40, sqlite_synchronous=0
        )
        self.put = self.cache.set

    def get_all(self, keys):
        get = self.cache.get
        for key in keys:
            get(key)

    def scan(self):
        cache = self.cache
        return sum(1 for key in cache.iterkeys() if cache.get(key) is not None)

    def count_each(self, words):
        incr = self.cache.incr
        for word in words:
            incr(word)

    def count_many(self, words):
        self.add(counted(words))

    def count_frame(self, frame):
        self.add(summed(frame))

    def add(self, amounts):
        with self.cache.transact():
            for word, amount in amounts:
                self.cache.incr(word, amount)

    def total(self):
        return sum(self.cache.get(key) for key in self.cache.iterkeys())


STORES = {
    "foldb": Foldb,
    "plyvel": Plyvel,
    "rocksdict": Rocksdict,
    "lmdb": Lmdb,
    "sqlite3": Sqlite,
    "diskcache": Diskcache,
}
