"""What a fold and a comparison in Python cost: nanoseconds of processor time, the least of rounds.

    python python/bench/operators.py
"""

import tempfile
import time

import foldb

ROUNDS = 7
KEYS = 1000


def number(data):
    return int.from_bytes(data, "little", signed=True)


def written(total):
    return total.to_bytes(8, "little", signed=True)


def full(key, value, operands):
    return written(sum(map(number, operands), number(value) if value else 0))


def least(calls, work):
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.thread_time_ns()
        work()
        best = min(best, (time.thread_time_ns() - begin) / calls)
    return best


def reads(db, keys):
    def work():
        for key in keys:
            db.get(key)

    return least(len(keys), work)


def main():
    operator = foldb.MergeOperator("bench.full", full)
    down = foldb.Comparator("bench.down", lambda a, b: (a < b) - (a > b))
    keys = [b"%06d" % i for i in range(KEYS)]
    with tempfile.TemporaryDirectory() as home, foldb.open(home + "/db", operators=[operator]) as db:
        print("get, ns:               no operand  1 operand  10 operands")
        for name, merge_operator in (("float64add", "float64add"), ("Python", operator)):
            keyspace = db.keyspace(name, merge_operator=merge_operator)
            costs = []
            for operands in (0, 1, 9):
                for key in keys:
                    if not costs:
                        keyspace.put(key, bytes(8))
                    for _ in range(operands):
                        keyspace.merge(key, bytes(8))
                costs.append(reads(keyspace, keys))
            print(f"{name:22} {costs[0]:10.0f} {costs[1]:10.0f} {costs[2]:12.0f}")
        print(f"{KEYS} keys, ns:             put        get    a step of items")
        for name, comparator in (("order of bytes", None), ("Python", down)):
            keyspace = db.keyspace("order " + name, comparator=comparator)

            def puts():
                for key in keys:
                    keyspace.put(key, b"")

            def scan():
                for _ in keyspace.items():
                    pass

            costs = least(KEYS, puts), reads(keyspace, keys), least(KEYS, scan)
            print(f"{name:22} {costs[0]:10.0f} {costs[1]:10.0f} {costs[2]:12.0f}")


if __name__ == "__main__":
    main()
