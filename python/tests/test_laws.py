"""The law kit for operators in Python."""

import os
import signal
import subprocess
import sys

import pytest

import foldb
import foldb.laws

WORDS = [b"a", b"bb", b"ccc", b"c,d"]


def joined(key, value, operands):
    return b",".join(operands if value is None else [value, *operands])


def test_a_good_operator_passes():
    partial = foldb.MergeOperator("app.joined", joined, lambda key, operands: b",".join(operands))
    foldb.laws.check(partial, WORDS)
    foldb.laws.check(foldb.MergeOperator.associative("app.max", max), WORDS, commutative=True)
    foldb.laws.check(foldb.MergeOperator.associative("app.max", max), WORDS, idempotent=True)
    foldb.laws.check("int64add", [n.to_bytes(8, "little") for n in (1, 2, 3)], commutative=True)
    foldb.laws.check("listlast:2", [])


def test_a_broken_partial_is_caught_with_the_smallest_history():
    def partial(key, operands):
        return b";".join(operands)

    broken = foldb.MergeOperator("app.broken", joined, partial)
    with pytest.raises(foldb.laws.Violation) as found:
        foldb.laws.check(broken, WORDS)
    violation = found.value
    assert violation.law in ("partial", "grouping", "batches") and len(violation.case.splitlines()) == 3
    assert isinstance(violation, AssertionError) and "the database answers" in str(violation)
    with pytest.raises(foldb.laws.Violation) as again:
        foldb.laws.check(broken, WORDS, seed=violation.seed, rounds=1)
    assert again.value.case == violation.case


def test_what_is_declared_is_checked():
    last = foldb.MergeOperator.associative("app.last", lambda older, newer: newer)
    foldb.laws.check(last, WORDS, idempotent=True)
    with pytest.raises(foldb.laws.Violation, match="commutative"):
        foldb.laws.check(last, WORDS, commutative=True)
    join = foldb.MergeOperator.associative("app.joined", lambda older, newer: older + newer)
    with pytest.raises(foldb.laws.Violation, match="idempotent"):
        foldb.laws.check(join, WORDS, idempotent=True)


def test_an_operand_that_full_cannot_read_shows_the_exception():
    def total(key, value, operands):
        return str(sum(map(int, operands), int(value or 0))).encode()

    with pytest.raises(foldb.laws.Violation, match="accepted") as found:
        foldb.laws.check(foldb.MergeOperator("app.total", total), [b"1", b"x"])
    assert isinstance(found.value.__cause__, ValueError)
    foldb.laws.check(foldb.MergeOperator("app.total", total, check=int), [b"1", b"22"])


def test_an_exception_of_partial_is_not_printed_by_a_check(capfd):
    operator = foldb.MergeOperator.associative("app.sum", lambda a, b: b"%d" % (int(a) + int(b)))
    with pytest.raises(foldb.laws.Violation, match="accepted") as found:
        foldb.laws.check(operator, [b"1", b"x"])
    assert isinstance(found.value.__cause__, ValueError) and capfd.readouterr() == ("", "")


def test_a_bad_argument_is_named():
    with pytest.raises(foldb.InvalidArgument, match="operator: .*'nothing'"):
        foldb.laws.check("nothing", [])
    with pytest.raises(TypeError, match="operator: expected"):
        foldb.laws.check(max, [])
    with pytest.raises(TypeError, match="operands: expected bytes"):
        foldb.laws.check("max", ["a"])


def test_hypothesis_draws_operands():
    pytest.importorskip("hypothesis")
    from hypothesis import strategies as st

    foldb.laws.hypothesis_test("max", st.binary(), bases=st.binary(), commutative=True)()

    def partial(key, operands):
        return b",".join(sorted(operands))

    broken = foldb.MergeOperator("app.sorted", joined, partial)
    with pytest.raises(foldb.laws.Violation, match="partial|grouping|batches"):
        foldb.laws.hypothesis_test(broken, st.sampled_from(WORDS))()


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_control_c_ends_a_check():
    program = """
import foldb, foldb.laws, os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
def combine(a, b):
    if combine.first:
        combine.first = False
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000): pass
    return a + b
combine.first = True
try:
    foldb.laws.check(foldb.MergeOperator.associative("a.b", combine), [b"1"], rounds=100)
except KeyboardInterrupt:
    print("interrupted")
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ended.stdout == "interrupted\n", ended.stderr
