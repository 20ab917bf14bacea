"""The laws of merge operators, for tests of an operator.

The engine folds operands in any grouping: in memory, in flushes, in compactions and in reads. An
operator that keeps the laws gives the same value in each. `check` draws histories, folds them in
groupings, and raises `Violation` with the smallest history that differs:

    def test_longest():
        foldb.laws.check(longest, [b"a", b"bb", b"ccc"])

`hypothesis_test` makes a test of pytest that draws the operands by a strategy of hypothesis.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable, Optional, Union

from foldb import _foldb

__all__ = ["Violation", "check", "hypothesis_test"]


class Violation(AssertionError):
    """A law does not hold.

    `law` is its name. `seed` replays the case: `check(..., seed=seed)` tries it first. `case` is the
    smallest history that was found, with the answers of two groupings. `__cause__` is the last
    exception of the operator, if it raised one.
    """

    def __init__(self, law: str, seed: int, case: str) -> None:
        super().__init__(f"law '{law}' does not hold (seed {seed}): {case}")
        self.law = law
        self.seed = seed
        self.case = case


def check(
    operator: Union[_foldb.MergeOperator, str],
    operands: Iterable[bytes],
    *,
    bases: Iterable[bytes] = (),
    commutative: bool = False,
    idempotent: bool = False,
    rounds: int = 1000,
    seed: int = 0,
) -> None:
    """Checks that an operator keeps the laws, and raises `Violation` if it does not.

    `operands` are examples; the check adds results of folds, and bytes that it draws. `bases` are
    values below them. `commutative` declares that the order of operands does not matter, and
    `idempotent` that an operand may come twice. `rounds` is the number of histories. `operator` may
    also be the name of a built-in one.
    """
    found = _foldb._check_laws(operator, operands, bases, commutative, idempotent, rounds, seed)
    if found is not None:
        law, seed, case, raised = found
        raise Violation(law, seed, case) from raised


def hypothesis_test(
    operator: Union[_foldb.MergeOperator, str],
    operands: Any,
    *,
    bases: Optional[Any] = None,
    commutative: bool = False,
    idempotent: bool = False,
    rounds: int = 20,
    most_operands: int = 8,
) -> Callable[[], None]:
    """Returns a test of pytest that checks an operator with operands that hypothesis draws.

    `operands` and `bases` are strategies of bytes. Needs the package hypothesis:

        test_longest = foldb.laws.hypothesis_test(longest, st.binary(min_size=1))
    """
    from importlib import import_module

    # Not import statements: a type checker would ask for hypothesis.
    given, st = import_module("hypothesis").given, import_module("hypothesis.strategies")
    drawn = st.lists(operands, min_size=1, max_size=most_operands)
    below = st.just([]) if bases is None else st.lists(bases, max_size=2)

    @given(drawn, below)
    def test(operands: Any, bases: Any) -> None:
        check(
            operator,
            operands,
            bases=bases,
            commutative=commutative,
            idempotent=idempotent,
            rounds=rounds,
        )

    return test
