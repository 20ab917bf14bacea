"""JSON documents that patches change without a read."""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any, Iterator, Optional, Tuple

from foldb import _foldb
from foldb.bags import of_operator

if TYPE_CHECKING:
    _Base = MutableMapping[Any, Any]
else:
    _Base = MutableMapping


def _written(value: Any, name: str) -> bytes:
    """Writes a document as the operator does: equal documents are equal bytes."""
    try:
        text = json.dumps(
            value, separators=(",", ":"), sort_keys=True, ensure_ascii=False, allow_nan=False
        )
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None
    return text.encode()


class Documents(_Base):
    """A JSON value for each key, for `merge_operator="json_merge_patch"`.

    It is a `MutableMapping`. `patch` merges a change without reading. `json()` of a keyspace makes
    it.
    """

    def __init__(self, keyspace: _foldb.Keyspace) -> None:
        of_operator(self, keyspace, "json_merge_patch")
        self.keyspace = keyspace

    def __getitem__(self, key: Any) -> Any:
        return json.loads(self.keyspace[key])

    def __setitem__(self, key: Any, document: Any) -> None:
        self.keyspace[key] = _written(document, "document")

    def __delitem__(self, key: Any) -> None:
        del self.keyspace[key]

    def __contains__(self, key: Any) -> bool:
        return key in self.keyspace

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keyspace)

    def __len__(self) -> int:
        return len(self.keyspace)

    def patch(self, key: Any, changes: Any, *, ttl: Optional[Any] = None) -> None:
        """Changes the document of a key without reading it, by a merge patch of RFC 7396.

        The members of `changes` replace those of the document, and dicts are patched in turn. A
        member `None` is removed. Lists are replaced as a whole. An absent document is `{}`.
        """
        self.keyspace.merge(key, _written(changes, "changes"), ttl=ttl)

    def items(self, *args: Any, **ranges: Any) -> Iterator[Tuple[Any, Any]]:  # type: ignore[override]
        """Iterates over keys and documents; the arguments are those of `Keyspace.items`."""
        for key, value in self.keyspace.items(*args, **ranges):
            yield key, json.loads(value)

    def values(self, *args: Any, **ranges: Any) -> Iterator[Any]:  # type: ignore[override]
        """Iterates over documents; the arguments are those of `Keyspace.items`."""
        return map(json.loads, self.keyspace.values(*args, **ranges))
