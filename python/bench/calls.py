"""Nanoseconds of single calls, beside plyvel, rocksdict and lmdb if they are installed.

    pip install plyvel rocksdict lmdb; python python/bench/calls.py [ENTRIES]

Each store by its usual idiom, no syncs. The least of five rounds, with the engines interleaved.
"""

from __future__ import annotations

import collections
import importlib.util
import random
import shutil
import sys
import tempfile
import time

ROUNDS = 5


class Foldb:
    def __init__(self, path):
        import foldb

        self.db = foldb.open(path + "/foldb", merge_operator="int64add")
        self.counts = self.db.keyspace("counts", merge_operator="int64add").counters()
        self.put, self.get = self.db.put, self.db.get

    def scan(self):
        return sum(1 for _ in self.db.items())

    def count(self, words):
        counts = self.counts
        for word in words:
            counts[word] += 1

    def count_all(self, words):
        self.counts.update(words)


class Plyvel:
    def __init__(self, path, module="plyvel"):
        plyvel = importlib.import_module(module)
        self.db = plyvel.DB(path + "/" + module, create_if_missing=True)
        self.put, self.get = self.db.put, self.db.get

    def scan(self):
        return sum(1 for _ in self.db)

    def count(self, words):
        get, put = self.get, self.put
        for word in words:
            word = b"c" + word
            put(word, b"%d" % (int(get(word, b"0")) + 1))

    def count_all(self, words):
        with self.db.write_batch() as batch:
            for word, amount in collections.Counter(words).items():
                word = b"c" + word
                batch.put(word, b"%d" % (int(self.get(word, b"0")) + amount))


class OverFoldb(Plyvel):
    def __init__(self, path):
        super().__init__(path, "foldb.plyvel")


class Rocksdict:
    def __init__(self, path):
        import rocksdict

        self.db = rocksdict.Rdict(path + "/rocksdict", rocksdict.Options(raw_mode=True))
        self.put, self.get = self.db.__setitem__, self.db.get

    def scan(self):
        return sum(1 for _ in self.db.items())

    def count(self, words):
        db, get = self.db, self.get
        for word in words:
            word = b"c" + word
            db[word] = b"%d" % (int(get(word, b"0")) + 1)

    count_all = count


class Lmdb:
    def __init__(self, path):
        import lmdb

        self.env = lmdb.open(path + "/lmdb", map_size=4 << 30, sync=False, writemap=True)

    def put(self, key, value):
        with self.env.begin(write=True) as transaction:
            transaction.put(key, value)

    def get(self, key):
        with self.env.begin() as transaction:
            return transaction.get(key)

    def scan(self):
        with self.env.begin() as transaction:
            return sum(1 for _ in transaction.cursor())

    def count(self, words):
        for word in words:
            with self.env.begin(write=True) as transaction:
                word = b"c" + word
                transaction.put(word, b"%d" % (int(transaction.get(word) or b"0") + 1))

    def count_all(self, words):
        with self.env.begin(write=True) as transaction:
            for word, amount in collections.Counter(words).items():
                word = b"c" + word
                transaction.put(word, b"%d" % (int(transaction.get(word) or b"0") + amount))


def engines(path):
    for kind, module in [
        (Foldb, "foldb"),
        (OverFoldb, "foldb.plyvel"),
        (Plyvel, "plyvel"),
        (Rocksdict, "rocksdict"),
        (Lmdb, "lmdb"),
    ]:
        if importlib.util.find_spec(module):
            yield module, kind(path)


def main():
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    draw = random.Random(5)
    keys = [b"%016x" % draw.getrandbits(64) for _ in range(entries)]
    value = bytes(draw.getrandbits(8) for _ in range(100))
    words = [b"word%05d" % int(draw.paretovariate(0.6)) for _ in range(entries)]
    path = tempfile.mkdtemp()
    try:
        best = collections.defaultdict(lambda: float("inf"))
        all_engines = list(engines(path))
        for _ in range(ROUNDS):
            for name, engine in all_engines:
                put, get = engine.put, engine.get

                def put_all():
                    for key in keys:
                        put(key, value)

                def get_all():
                    for key in keys:
                        get(key)

                jobs = {
                    "put": put_all,
                    "get": get_all,
                    "scan": engine.scan,
                    "count": lambda: engine.count(words),
                    "count in bulk": lambda: engine.count_all(words),
                }
                for job, run in jobs.items():
                    begin = time.process_time()
                    run()
                    took = (time.process_time() - begin) / entries * 1e9
                    best[job, name] = min(best[job, name], took)
        names = [name for name, _ in all_engines]
        print("processor ns an entry |", " | ".join(names))
        for job in jobs:
            print(job, "|", " | ".join(f"{best[job, name]:.0f}" for name in names))
    finally:
        shutil.rmtree(path, ignore_errors=True)


if __name__ == "__main__":
    main()
