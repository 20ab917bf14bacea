"""Statistics, best items and histograms whose changes never read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, List, Optional, Tuple

from foldb import _foldb
from foldb.bags import _Bags


@dataclass(frozen=True)
class Summary:
    """What the samples of a key have in common. All numbers are exact."""

    count: int
    sum: int
    min: Optional[int]
    max: Optional[int]

    @property
    def mean(self) -> Optional[float]:
        """The mean of the samples, or `None` if there is none."""
        return self.sum / self.count if self.count else None


class Summaries(_Bags[Summary]):
    """The count, sum, least and greatest of ints of 64 bits, for `merge_operator="stats"`.

    `summaries()` of a keyspace makes it.
    """

    def __init__(self, keyspace: _foldb.Keyspace) -> None:
        super().__init__(keyspace, "stats")

    def _shown(self, value: bytes) -> Summary:
        return Summary(*_foldb.stats_summary(value))

    def _empty(self) -> Summary:
        return Summary(0, 0, None, None)

    def add(self, key: Any, *samples: int) -> None:
        """Adds samples to a key, without reading it."""
        self.keyspace.merge(key, _foldb.stats_add(samples))

    def update(self, key: Any, samples: Iterable[int]) -> None:
        """Adds the samples of an iterable to a key, without reading it."""
        self.keyspace.merge(key, _foldb.stats_add(samples))


class Tops(_Bags[List[Tuple[bytes, int]]]):
    """The K items with the highest scores, the best first, for `merge_operator="top:K"`.

    An item that comes again keeps its highest score. `tops()` of a keyspace makes it.
    """

    def __init__(self, keyspace: _foldb.Keyspace) -> None:
        super().__init__(keyspace, "top")

    def _shown(self, value: bytes) -> List[Tuple[bytes, int]]:
        return _foldb.top_items(value)

    def _empty(self) -> List[Tuple[bytes, int]]:
        return []

    def add(self, key: Any, item: Any, score: int) -> None:
        """Offers an item with its score to a key, without reading it."""
        self.keyspace.merge(key, _foldb.top_add([(item, score)]))

    def update(self, key: Any, scores: Iterable[Tuple[Any, int]]) -> None:
        """Offers pairs of item and score to a key, up to K of them, without reading it."""
        self.keyspace.merge(key, _foldb.top_add(scores))


class Histogram:
    """How the samples of a key are spread."""

    __slots__ = ("_value",)

    def __init__(self, value: bytes) -> None:
        self._value = value

    @property
    def count(self) -> int:
        """The number of samples."""
        return _foldb.histogram_count(self._value)

    @property
    def bounds(self) -> Optional[Tuple[float, float]]:
        """Bounds between which all samples lie, or `None` if there is none."""
        return _foldb.histogram_bounds(self._value)

    def quantile(self, share: float) -> Optional[float]:
        """Returns the sample below which `share` of the samples lie; `None` if there is none.

        It differs from the true one by at most the operator's PERCENT.
        """
        return _foldb.histogram_quantile(self._value, share)

    def __repr__(self) -> str:
        if not self.count:
            return "<foldb histogram, empty>"
        shown = " ".join(f"p{round(100 * q)}={self.quantile(q):g}" for q in (0.5, 0.9, 0.99))
        return f"<foldb histogram, {self.count} samples, {shown}>"


class Histograms(_Bags[Histogram]):
    """A histogram of floats for each key, for `merge_operator="histogram:PERCENT"`.

    `histograms()` of a keyspace makes it.
    """

    def __init__(self, keyspace: _foldb.Keyspace) -> None:
        super().__init__(keyspace, "histogram")

    def _shown(self, value: bytes) -> Histogram:
        return Histogram(value)

    def _empty(self) -> Histogram:
        return Histogram(b"")

    def add(self, key: Any, *samples: float) -> None:
        """Adds samples to a key, without reading it."""
        self.keyspace.merge(key, _foldb.histogram_add(samples))

    def update(self, key: Any, samples: Iterable[float]) -> None:
        """Adds the samples of an iterable to a key, without reading it."""
        self.keyspace.merge(key, _foldb.histogram_add(samples))
