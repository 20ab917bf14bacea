"""foldb beside plyvel, rocksdict, lmdb, sqlite3 and diskcache, in one run.

    pip install dist/foldb-*.whl plyvel rocksdict lmdb diskcache numpy polars matplotlib
    python python/bench/run.py [--scale 0.1] [--rounds 3] [--out DIRECTORY]

Prints a table, and writes it with the figures and a page of plots to DIRECTORY. Each job of each
store runs in a process and a directory of its own, in turns. The figure is the least time of the
rounds. A store that is slow at a job does the first part of it, for about 10 s; its time is then
computed for the whole, and marked with `~`.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
from stores import LAST, STORES

ENTRIES, WORDS, DIFFERENT, EVENTS = 1_000_000, 5_000_000, 100_000, 5_000_000
#: Rows of a chunk in which events arrive.
CHUNK = 10_000
#: Seconds after which a slow store stops.
PATIENCE = 10.0


def words_of(scale):
    """Draws words: few of them often, most seldom."""
    draw = numpy.random.default_rng(5)
    rank = draw.zipf(1.1, size=int(WORDS * scale * 2))
    rank = rank[rank <= DIFFERENT][: int(WORDS * scale)]
    names = numpy.array([b"word%05d" % number for number in range(DIFFERENT)], dtype="S9")
    draw.shuffle(names)
    return names[rank - 1]


def entries_of(scale):
    """Draws keys of 16 bytes, and values of 100 bytes that no one compresses."""
    draw = numpy.random.default_rng(7)
    keys = [b"%016x" % key for key in draw.integers(0, 2**63, int(ENTRIES * scale)).tolist()]
    drawn = draw.bytes(len(keys) + 100)
    return keys, [drawn[at : at + 100] for at in range(len(keys))]


def events_of(scale, owners, pattern):
    """Draws events: the number and the name of their owners, and what happened."""
    draw = numpy.random.default_rng(9)
    rows = int(EVENTS * scale)
    names = numpy.array([pattern % number for number in range(owners)])
    numbers = draw.integers(0, owners, rows)
    return numbers, names[numbers], draw.integers(0, 1_000_000, rows)


def in_parts(parts, work):
    """Works on parts until they end or patience does. Returns the part that was done, and time."""
    done, begin = 0, time.perf_counter()
    for part in parts:
        work(part)
        done += len(part[0]) if isinstance(part, tuple) else len(part)
        if time.perf_counter() - begin > PATIENCE:
            break
    return done, time.perf_counter() - begin


def chunks(*columns):
    for at in range(0, len(columns[0]), CHUNK):
        part = tuple(column[at : at + CHUNK] for column in columns)
        yield part if len(part) > 1 else part[0]


def put_all(store, scale):
    """Puts entries, and returns their keys, how many were put, and how long it took."""
    keys, values = entries_of(scale)
    call = store.put

    def work(part):
        for key, value in zip(*part):
            call(key, value)

    return (keys, *in_parts(chunks(keys, values), work))


def put(store, scale):
    keys, done, took = put_all(store, scale)
    return len(keys), done, took


def filled(store, scale):
    """Fills a store, and returns the keys that it has and how many it should have."""
    keys, done, _ = put_all(store, scale)
    return keys[:done], len(keys)


def get(store, scale):
    keys, whole = filled(store, scale)
    numpy.random.default_rng(3).shuffle(keys)
    # The first reads of any store fill its cache.
    in_parts(chunks(keys), store.get_all)
    return (whole, *in_parts(chunks(keys), store.get_all))


def scan(store, scale):
    keys, whole = filled(store, scale)
    store.scan()
    begin = time.perf_counter()
    assert store.scan() == len(keys)
    return whole, len(keys), time.perf_counter() - begin


def count_each(store, scale):
    words = words_of(scale).tolist()
    done, took = in_parts(chunks(words), store.count_each)
    assert store.total() == done
    return len(words), done, took


def count_many(store, scale):
    words = words_of(scale)
    done, took = in_parts([words], store.count_many)
    assert store.total() == done == len(words)
    return len(words), done, took


def count_frame(store, scale):
    import polars

    frame = polars.DataFrame({"word": words_of(scale).tolist(), "n": 1})
    begin = time.perf_counter()
    store.count_frame(frame)
    took = time.perf_counter() - begin
    assert store.total() == len(frame)
    return len(frame), len(frame), took


def visitors(store, scale, each=False):
    numbers, pages, visitors = events_of(scale, 1000, b"page%04d")
    names = sorted(set(pages.tolist()))
    store.begin_visitors()
    if each:
        parts, work = chunks(list(zip(pages.tolist(), visitors.tolist()))), store.visit_each
    else:
        parts, work = chunks(pages, visitors), lambda part: store.visit(*part)
    done, took = in_parts(parts, work)
    begin = time.perf_counter()
    found = sum(store.unique(names))
    took += time.perf_counter() - begin
    exact = len(numpy.unique(numbers[:done] * 1_000_000 + visitors[:done]))
    assert abs(found / exact - 1) < 0.01, (found, exact)
    return len(pages), done, took


def last_events(store, scale, each=False):
    _, users, events = events_of(scale, 100_000, b"user%06d")
    events = events.astype("S7")
    store.begin_last()
    if each:
        parts, work = chunks(list(zip(users.tolist(), events.tolist()))), store.append_each
    else:
        parts, work = chunks(users, events), lambda part: store.append(*part)
    done, took = in_parts(parts, work)
    user = users[0]
    expected = events[:done][users[:done] == user][-LAST:].tolist()
    assert store.last_of(bytes(user)) == expected
    return len(users), done, took


def visitors_each(store, scale):
    return visitors(store, scale, each=True)


def last_each(store, scale):
    return last_events(store, scale, each=True)


ALL = tuple(STORES)
NO_DICTS = tuple(name for name in ALL if name != "diskcache")
#: The jobs: the title, the work, the stores.
JOBS = {
    "put": ("put 1 M entries of 16 + 100 bytes", put, ALL),
    "get": ("get them in another order", get, ALL),
    "scan": ("scan them", scan, ALL),
    "count": ("count 5 M words, one at a time", count_each, ALL),
    "array": ("count 5 M words of a NumPy array", count_many, ALL),
    "frame": ("count 5 M words of a polars frame", count_frame, ALL),
    "visit": ("unique visitors of 1000 pages, 5 M events one at a time", visitors_each, NO_DICTS),
    "visitors": ("the same, 10 000 events at a time", visitors, NO_DICTS),
    "append": ("last 10 events of 100 k users, 5 M events one at a time", last_each, NO_DICTS),
    "last": ("the same, 10 000 events at a time", last_events, NO_DICTS),
}


def one(store, job, scale):
    """Runs a job in this process, and prints its figures."""
    with tempfile.TemporaryDirectory() as path:
        whole, done, took = JOBS[job][1](STORES[store](path), scale)
        print(json.dumps({"seconds": took * whole / done, "is_whole": whole == done}))


def costs():
    """Returns lines with the cost of whole calls of foldb on one hot entry, and of its import."""
    import timeit

    import foldb

    with tempfile.TemporaryDirectory() as path, foldb.open(path, merge_operator="int64add") as db:
        counts = db.counters()
        db.put(b"key", b"12345678")
        names = {"db": db, "counts": counts}
        lines = []
        for call in (
            'db.get(b"key")',
            'db[b"key"]',
            'b"key" in db',
            'db.put(b"key", b"12345678")',
            'db.merge(b"key", b"12345678")',
            'counts[b"key"] += 1',
        ):
            rounds = timeit.repeat(call, globals=names, number=200_000, repeat=7)
            lines.append(f"`{call}` {min(rounds) / 200_000 * 1e9:.0f} ns")
    starts = {"pass": [], "import foldb": []}
    for _ in range(15):
        for code, took in starts.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            took.append(time.perf_counter() - begin)
    imported = min(starts["import foldb"]) - min(starts["pass"])
    return [*lines, f"`import foldb` {imported * 1e3:.1f} ms"]


def measure(scale, rounds, jobs):
    best = {}
    for job in jobs:
        for _ in range(rounds):
            for store in JOBS[job][2]:
                if best.get((job, store), {}).get("is_whole") is False:
                    continue
                command = [sys.executable, __file__, "--one", store, job, "--scale", str(scale)]
                output = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
                found = json.loads(output)
                known = best.setdefault((job, store), found)
                best[job, store] = min(found, known, key=lambda own: own["seconds"])
                print(job, store, found, file=sys.stderr, flush=True)
    return best


def table(best, jobs):
    """Returns the lines of a table: seconds, and how many times the fastest other takes foldb's."""
    lines = ["| job | " + " | ".join(ALL) + " | fastest other / foldb |"]
    lines.append("|" + " --- |" * (len(ALL) + 2))
    for job in jobs:
        cells = [shown(best.get((job, store))) for store in ALL]
        ratios = [f"{ratio_of(best, job, job):.1f}"]
        if job in ("array", "frame") and "count" in jobs:
            ratios.append(f"{ratio_of(best, job, 'count'):.1f} to one word at a time")
        lines.append(f"| {JOBS[job][0]} | " + " | ".join(cells) + f" | {', '.join(ratios)} |")
    return lines


def shown(found):
    if found is None:
        return ""
    return ("" if found["is_whole"] else "~") + f"{found['seconds']:.2f}"


def ratio_of(best, job, against):
    others = [best[key]["seconds"] for key in best if key[0] == against and key[1] != "foldb"]
    own = best.get((job, "foldb"))
    return min(others) / own["seconds"] if others and own else float("nan")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="part of the entries and events")
    parser.add_argument("--rounds", type=int, default=1, help="rounds of each job")
    parser.add_argument("--jobs", nargs="*", default=list(JOBS), choices=list(JOBS))
    parser.add_argument("--out", type=pathlib.Path, help="directory of the table and the plots")
    parser.add_argument("--one", nargs=2, metavar=("STORE", "JOB"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        one(*given.one, given.scale)
        return
    best = measure(given.scale, given.rounds, given.jobs)
    lines = [*table(best, given.jobs), "", "Whole calls: " + ", ".join(costs()) + "."]
    print("\n".join(lines))
    if given.out:
        from page import write_page

        given.out.mkdir(parents=True, exist_ok=True)
        write_page(given.out, best, {job: JOBS[job][0] for job in given.jobs}, lines)


if __name__ == "__main__":
    main()
