"""Pictures of databases and keyspaces, with matplotlib: `pip install foldb[plot]`."""

from __future__ import annotations

from importlib import import_module
from io import BytesIO

from foldb import errors
from foldb.stats import size, time

# The module typing would make half of the time of the import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from foldb import _foldb

# The colours of Okabe and Ito, which colour-blind readers tell apart.
_COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"]
_GREY = "#999999"
# A longer name of a keyspace is cut.
_LONGEST = 22


def _png(figure: Any) -> bytes:
    out = BytesIO()
    figure.savefig(out, format="png", dpi=90)
    return out.getvalue()


def _picture(width: float, height: float) -> Any:
    """Returns a figure of matplotlib that a notebook shows once, whatever its backend is."""
    try:
        # Not an import statement: a type checker would ask for matplotlib.
        kind = import_module("matplotlib.figure").Figure
    except ImportError as error:
        raise ImportError("plot needs matplotlib: pip install foldb[plot]") from error
    # Not a class statement: the module can be imported without matplotlib.
    return type("Picture", (kind,), {"_repr_png_": _png})(figsize=(width, height), layout="constrained")


def database(db: _foldb.Database) -> Any:
    """Draws the shape of a database: its levels, entries, writes, large values and latencies."""
    stats = db.stats()
    figure = _picture(13, 7.5)
    grid = figure.add_gridspec(2, 6)
    _levels(figure.add_subplot(grid[0, :4]), stats["keyspaces"])
    _entries(figure.add_subplot(grid[0, 4:]), db, list(stats["keyspaces"]))
    _written(figure.add_subplot(grid[1, :2]), stats)
    _segments(figure.add_subplot(grid[1, 2:4]), stats["segments"])
    _latencies(figure.add_subplot(grid[1, 4:]), stats["latencies"])
    figure.suptitle(
        f"{_plain(str(db.path))}: {size(_held(stats))} on disk, {size(stats['memory'])} in memory"
    )
    return figure


def keyspace(own: _foldb.Keyspace) -> Any:
    """Draws the levels of a keyspace."""
    shapes = own._stats()["keyspaces"]
    if own.name not in shapes:
        raise errors.KeyspaceMissing(f"the keyspace {own.name!r} was dropped")
    figure = _picture(8, 4)
    _levels(figure.add_subplot(), {own.name: shapes[own.name]})
    count, bytes_ = own.approximate_count(), own.approximate_size()
    figure.suptitle(f"{_plain(own.name)}: about {count:,} entries, {size(bytes_)} on disk")
    return figure


def _held(stats: dict[str, Any]) -> int:
    levels = sum(level["bytes"] for level in stats["levels"])
    return int(levels + stats["segments"]["bytes"])


def _plain(name: str) -> str:
    """Returns a name as matplotlib shows it: a dollar sign would begin a formula."""
    return name.replace("$", r"\$")


def _cut(name: str) -> str:
    return _plain(name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…")


def _bare(axes: Any) -> None:
    """Takes the horizontal axis away: each bar has its value behind it."""
    axes.set_xticks([])
    axes.tick_params(left=False)
    axes.spines[["top", "right", "bottom"]].set_visible(False)


def _empty(axes: Any, title: str, why: str) -> None:
    axes.set_title(title, loc="left")
    axes.text(0.5, 0.5, why, ha="center", va="center", color="#555555", transform=axes.transAxes)
    axes.set_axis_off()


def _bars(
    axes: Any,
    names: Sequence[str],
    values: Sequence[float],
    shown: Callable[[float], str],
    colours: Any = _COLOURS[0],
) -> None:
    """Draws bars from the top down, with the value behind each."""
    bars = axes.barh(range(len(names)), values, color=colours, height=0.65)
    axes.set_yticks(range(len(names)), names)
    # A few bars are as high as those of a picture with many.
    axes.set_ylim(max(len(names), 5) - 0.5, -0.5)
    axes.bar_label(bars, [shown(value) for value in values], padding=4)
    _bare(axes)
    # Leaves space for the values behind the bars.
    axes.set_xlim(0, max([*values, 1]) * 1.3)


def _most(shapes: dict[str, Any]) -> list[str]:
    """Returns the names of the keyspaces, the largest first."""

    def held(name: str) -> int:
        shape = shapes[name]
        return int(shape["memtable_bytes"] + sum(level["bytes"] for level in shape["levels"]))

    return sorted(shapes, key=held, reverse=True)


def _levels(axes: Any, shapes: dict[str, Any]) -> None:
    names = _most(shapes)
    used = [
        at
        for shape in shapes.values()
        for at, level in enumerate(shape["levels"])
        if level["bytes"]
    ]
    places = ["memory", *(f"level {at}" for at in range(max(used, default=0) + 1))]
    own = {
        name: [
            shapes[name]["memtable_bytes"],
            *(level["bytes"] for level in shapes[name]["levels"][: len(places) - 1]),
        ]
        for name in names
    }
    parts = [(_cut(name), own[name], _COLOURS[at]) for at, name in enumerate(names[:6])]
    if len(names) > 6:
        rest = [sum(at) for at in zip(*(own[name] for name in names[6:]))]
        parts.append((f"{len(names) - 6} others", rest, _GREY))
    begin = [0] * len(places)
    for name, values, colour in parts:
        axes.barh(
            range(len(places)),
            values,
            left=begin,
            color=colour,
            edgecolor="white",
            linewidth=0.8,
            height=0.65,
            label=name,
        )
        begin = [before + value for before, value in zip(begin, values)]
    for at, whole in enumerate(begin):
        axes.annotate(
            size(whole), (whole, at), xytext=(4, 0), textcoords="offset points", va="center"
        )
    axes.set_yticks(range(len(places)), places)
    axes.invert_yaxis()
    _bare(axes)
    axes.set_xlim(0, max([*begin, 1]) * 1.15)
    axes.set_title("Bytes by level", loc="left")
    if len(parts) > 1:
        # Beside the bars, so that it hides none.
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, title="keyspace")


def _entries(axes: Any, db: _foldb.Database, names: list[str]) -> None:
    title = "Entries by keyspace, about"
    try:
        counts = {
            name: db.keyspace(name, create=False).approximate_count() for name in names
        }
    except errors.Closed:
        return _empty(axes, title, "the database is closed")
    most = sorted(names, key=lambda name: -counts[name])[:8]
    _bars(
        axes,
        [_cut(name) for name in most],
        [counts[name] for name in most],
        _count,
        _COLOURS[2],
    )
    axes.set_title(title, loc="left")


def _count(value: float) -> str:
    for factor, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= factor:
            return f"{value / factor:.3g}{unit}"
    return f"{value:.3g}"


def _written(axes: Any, stats: dict[str, Any]) -> None:
    rows = [("program", stats["bytes_user"], _COLOURS[1]), ("log", stats["bytes_log"], None)]
    rows += [
        (name, stats[f"bytes_{field}"], None)
        for name, field in [
            ("flushes", "flush"),
            ("compactions", "compaction"),
            ("large values", "segments"),
            ("garbage coll.", "gc_written"),
        ]
    ]
    names = [name for name, _, _ in rows]
    colours = [colour or _COLOURS[0] for _, _, colour in rows]
    _bars(axes, names, [written for _, written, _ in rows], size, colours)
    axes.set_title(f"Bytes written: write amplification {stats['write_amplification']:.2f}", loc="left")


def _segments(axes: Any, segments: dict[str, Any]) -> None:
    title = "Large values"
    if not segments["bytes"]:
        return _empty(axes, title, "no keyspace keeps large values apart\n(value_separation_min)")
    values = [segments["live_bytes"], segments["dead_bytes"]]
    _bars(axes, ["live", "dead"], values, size, [_COLOURS[0], _COLOURS[1]])
    share = values[1] / max(sum(values), 1)
    axes.set_title(f"{title}: {share:.0%} dead", loc="left")


def _latencies(axes: Any, latencies: dict[str, Any]) -> None:
    title = "Latencies"
    calls = [(name.replace("_", " "), own) for name, own in latencies.items() if own["sampled"]]
    if not calls:
        return _empty(axes, title, "no call was measured yet")
    rows = range(len(calls))
    halves = [max(own["p50"], 1e-9) for _, own in calls]
    highs = [max(own["p99"], 1e-9) for _, own in calls]
    axes.hlines(rows, halves, highs, color=_GREY, linewidth=2, zorder=1)
    # A median at its P99 is still seen: the smaller mark is above the larger one.
    axes.scatter(halves, rows, color=_COLOURS[0], marker="o", s=28, label="median", zorder=3)
    axes.scatter(highs, rows, color=_COLOURS[1], marker="D", s=90, label="P99", zorder=2)
    axes.set_yticks(rows, [name for name, _ in calls])
    axes.set_ylim(len(calls) - 0.4, -0.6)
    axes.set_xscale("log")
    axes.set_xlim(min(halves) / 3, max(highs) * 3)
    axes.xaxis.set_major_formatter(lambda value, _: time(value))
    axes.grid(axis="x", color="#dddddd", zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(title, loc="left")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2, frameon=False)
