"""The statistics of a database, and how notebooks show them.

Colours and lines are those of the page around, so that light and dark pages both read well.
"""

from __future__ import annotations

from html import escape

from foldb import errors

# The module typing would make half of the time of `import foldb`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Dict

    from foldb import _foldb

    _Dict = Dict[str, Any]
else:
    _Dict = dict

# A notebook shows only this many keyspaces: the largest ones.
_MOST_SHOWN = 20
# Both stand out on white and on black, and look different to colour-blind readers.
_BLUE, _ORANGE = "#3b8bc4", "#e08a1e"
_CELL = "text-align:right;white-space:nowrap;padding:1px 10px;border:0;background:transparent;color:inherit"
_TOP = _CELL + ";border-bottom:1px solid #8888"


class Stats(_Dict):
    """The counts and sizes of a database: a dict, which notebooks show as tables."""

    def _repr_html_(self) -> str:
        rest = {name: value for name, value in self.items() if not isinstance(value, (dict, list))}
        rows = [(escape(name), _number(value)) for name, value in rest.items()]
        return (
            f"{_figures(self)}{_levels(self['keyspaces'])}{_segments(self['segments'])}"
            f"{_latencies(self['latencies'])}"
            f"<details><summary>All {len(rows)} figures</summary>"
            f"{_table(['figure', 'value'], rows)}</details>"
        )


def database(db: _foldb.Database) -> str:
    """Returns how a notebook shows a database."""
    state = "closed" if db.closed else "read-only" if db.read_only else "open"
    title = f"<b>foldb.Database</b> <code>{escape(str(db.path))}</code>, {state}"
    stats = db.stats()
    shapes = _levels(stats["keyspaces"])
    return f"<div>{title}{_figures(stats)}{shapes}{_segments(stats['segments'])}</div>"


def keyspace(own: _foldb.Keyspace) -> str:
    """Returns how a notebook shows a keyspace."""
    rows = [
        ("merge operator", escape(own.merge_operator or "none")),
        ("schema", escape(own.schema or "none: bytes")),
    ]
    try:
        rows.append(("entries, about", f"{own.approximate_count():,}"))
        rows.append(("size on disk, about", size(own.approximate_size())))
    except errors.Error as error:
        rows.append(("state", escape(str(error))))
    shapes = own._stats()["keyspaces"]
    shape = _levels({own.name: shapes[own.name]}) if own.name in shapes else ""
    title = f"<b>foldb.Keyspace</b> <code>{escape(own.name)}</code>"
    return f"<div>{title}{_table(None, rows)}{shape}</div>"


def size(count: float) -> str:
    """Returns a number of bytes for readers."""
    unit = "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if count < 1024:
            break
        count, unit = count / 1024, larger
    return f"{count:,.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"


def time(seconds: float) -> str:
    """Returns a duration for readers."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _number(value: Any) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"


def _table(head: Sequence[str] | None, rows: Iterable[Sequence[str]]) -> str:
    def row(cells: Sequence[str], tag: str, style: str) -> str:
        first = f'<{tag} style="{style};text-align:left">{cells[0]}</{tag}>'
        rest = "".join(f'<{tag} style="{style}">{cell}</{tag}>' for cell in cells[1:])
        return f'<tr style="background:transparent">{first}{rest}</tr>'

    top = row(head, "th", _TOP) if head else ""
    body = "".join(row(cells, "td", _CELL) for cells in rows)
    return f'<table style="border-collapse:collapse;margin:6px 0;color:inherit">{top}{body}</table>'


def _bar(parts: Sequence[tuple[float, str]]) -> str:
    # A part of a hundredth is still seen.
    drawn = "".join(
        f'<span style="display:inline-block;height:10px;width:{max(share * 120, 1.2):.1f}px;'
        f'background:{colour}"></span>'
        for share, colour in parts
        if share > 0
    )
    return f'<span style="display:inline-block;width:122px;text-align:left">{drawn}</span>'


def _figures(stats: _Dict) -> str:
    rows = [
        ("written by the program", size(stats["bytes_user"])),
        ("written to disk", size(stats["bytes_written"])),
        ("write amplification", f"{stats['write_amplification']:.2f}"),
        ("space amplification", f"{stats['space_amplification']:.2f}"),
        ("memory", size(stats["memory"])),
    ]
    return _table(None, rows)


def _levels(keyspaces: _Dict) -> str:
    """Returns a table of the levels that hold something."""
    held = {
        name: [shape["memtable_bytes"], *(level["bytes"] for level in shape["levels"])]
        for name, shape in keyspaces.items()
    }
    most = max([1, *(max(parts) for parts in held.values())])
    names = sorted(keyspaces, key=lambda name: -sum(held[name]))
    rows = []
    for name in names[:_MOST_SHOWN]:
        shape = keyspaces[name]
        places = [("memory", {"bytes": shape["memtable_bytes"], "runs": 0, "tables": 0})]
        places += [(f"level {at}", level) for at, level in enumerate(shape["levels"])]
        shown = [place for place in places if place[1]["bytes"]] or [places[0]]
        for place, level in shown:
            colour = _ORANGE if place == "memory" else _BLUE
            bar = _bar([(level["bytes"] / most, colour)])
            counts = [f"{level[count]:,}" if level["tables"] else "" for count in ("runs", "tables")]
            rows.append((escape(name), place, *counts, size(level["bytes"]), bar))
            name = ""
    if len(names) > _MOST_SHOWN:
        rest = sum(sum(held[name]) for name in names[_MOST_SHOWN:])
        rows.append((f"{len(names) - _MOST_SHOWN} smaller ones", "", "", "", size(rest), ""))
    return _table(["keyspace", "place", "runs", "tables", "bytes", ""], rows)


def _segments(segments: _Dict) -> str:
    if not segments["bytes"]:
        return ""
    live, dead = segments["live_bytes"], segments["dead_bytes"]
    whole = max(live + dead, 1)
    rows = [
        ("live", size(live), _bar([(live / whole, _BLUE)])),
        ("dead", size(dead), _bar([(dead / whole, _ORANGE)])),
    ]
    return _table(["large values", "bytes", ""], rows)


def _latencies(latencies: _Dict) -> str:
    rows = [
        (escape(call), f"{own['sampled']:,}", time(own["p50"]), time(own["p99"]))
        for call, own in latencies.items()
        if own["sampled"]
    ]
    return _table(["call", "sampled", "median", "P99"], rows) if rows else ""
