"""The page of plots: one picture, and a page of HTML with it and the table."""

from __future__ import annotations

import html
import json

COLOURS = {
    "foldb": "#d1495b",
    "plyvel": "#66a182",
    "rocksdict": "#2e4057",
    "lmdb": "#edae49",
    "sqlite3": "#8d96a3",
    "diskcache": "#00798c",
}


def write_page(directory, best, titles, lines):
    """Writes `figures.json`, `table.md`, `stores.svg` and `stores.html`."""
    figures = {f"{job}/{store}": found for (job, store), found in best.items()}
    (directory / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
    (directory / "table.md").write_text("\n".join(lines) + "\n")
    draw(best, titles).savefig(directory / "stores.svg", bbox_inches="tight")
    rows = [
        line.strip("| ").split("|")
        for line in lines
        if line.startswith("| ") and " --- " not in line
    ]
    cells = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(cell.strip())}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    (directory / "stores.html").write_text(
        "<!doctype html><meta charset=utf-8><title>foldb in Python, beside others</title>"
        "<style>body{font:15px sans-serif;margin:2em auto;max-width:70em}"
        "td{padding:.2em .6em;border-bottom:1px solid #ccc}</style>"
        f"<h1>foldb in Python, beside others</h1><table>{cells}</table>"
        "<img src=stores.svg alt='the figures of the table as bars' style=max-width:100%>"
    )


def draw(best, titles):
    """Draws the seconds of each job as bars, one beside the other."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    # Letters of the reader's fonts make the picture a tenth as large.
    rcParams["svg.fonttype"] = "none"
    columns = 2
    rows = (len(titles) + columns - 1) // columns
    figure = Figure(figsize=(11, 2.3 * rows), layout="constrained")
    for place, (job, title) in enumerate(titles.items(), 1):
        axes = figure.add_subplot(rows, columns, place)
        found = {store: own for (other, store), own in best.items() if other == job}
        names = [name for name in COLOURS if name in found][::-1]
        seconds = [found[name]["seconds"] for name in names]
        bars = axes.barh(names, seconds, color=[COLOURS[name] for name in names])
        marks = ["" if found[name]["is_whole"] else "~" for name in names]
        labels = [f" {mark}{value:.2f} s" for mark, value in zip(marks, seconds)]
        axes.bar_label(bars, labels)
        axes.set_title(title, fontsize=11)
        axes.set_xlim(0, max(seconds) * 1.25)
        axes.spines[["top", "right"]].set_visible(False)
    return figure
