"""Counts the words of a text in a database, and plots them.

    python count_text.py [--db words.db] [--picture words.png] [FILE ...]

Without a file it counts the reference manual that is part of every Python. Each `# %%` is a cell
where an editor or Jupyter knows them. The plot needs matplotlib: pip install foldb[plot].
"""

# %% The words of a text
import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

import foldb


def words_of(files):
    if files:
        texts = (Path(file).read_text(encoding="utf-8", errors="replace") for file in files)
    else:
        from pydoc_data.topics import topics

        texts = topics.values()
    for text in texts:
        yield from re.findall(r"[^\W\d_]+", text.lower())


# %% Count: each update merges, and reads nothing
def count(db, words, step=2000):
    """Counts words, and returns how many different ones there were after each step."""
    counts, growth, part, done = db.counters(), [(0, 0)], [], 0
    for word in words:
        part.append(word)
        if len(part) == step:
            counts.update(part)
            done += len(part)
            part = []
            growth.append((done, len(counts)))
    counts.update(part)
    growth.append((done + len(part), len(counts)))
    return growth


# %% A process that is killed loses nothing of what it counted
def killed(path):
    """Counts a word in a process that kills itself, without a close or a sync."""
    program = (
        "import foldb, os, signal, sys; foldb.open(sys.argv[1]).counters()['~survivor'] += 1;"
        " os.kill(os.getpid(), getattr(signal, 'SIGKILL', signal.SIGTERM))"
    )
    return subprocess.run([sys.executable, "-c", program, os.fspath(path)]).returncode


# %% Plot: the most common words, how often the words occur by rank, and how the words grow
def plot(counts, growth):
    from matplotlib.figure import Figure

    blue, orange = "#0072B2", "#E69F00"
    figure = Figure(figsize=(14, 4.8), layout="constrained")
    most, ranks, grown = figure.subplots(1, 3)

    top = counts.most_common(15)
    bars = most.barh([word for word, _ in top], [number for _, number in top], color=blue)
    most.invert_yaxis()
    most.bar_label(bars, [f"{number:,}" for _, number in top], padding=3)
    most.set_xlim(0, top[0][1] * 1.2)
    most.set_title("The most common words")
    most.set_xlabel("count")

    numbers = [number for _, number in counts.most_common()]
    rank = range(1, len(numbers) + 1)
    ranks.loglog(rank, numbers, ".", color=blue, label="words of the text", markersize=4)
    # Zipf: the word of rank n occurs about 1/n as often as the first one.
    ranks.loglog(
        rank, [numbers[0] / n for n in rank], "--", color=orange, linewidth=2, label="Zipf: 1/rank"
    )
    ranks.set_ylim(0.7, numbers[0] * 2)
    ranks.set_title("Counts by rank")
    ranks.set_xlabel("rank of the word")
    ranks.set_ylabel("count")
    ranks.legend(frameon=False)

    grown.plot(*zip(*growth), color=blue)
    grown.set_ylim(bottom=0)
    grown.set_xlim(left=0)
    for axis in (grown.xaxis, grown.yaxis, most.xaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axis.get_major_locator().set_params(nbins=5)
    grown.set_title("Growth of the vocabulary")
    grown.set_xlabel("words read")
    grown.set_ylabel("different words")
    for axes in (most, ranks, grown):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


# %% All of it
def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--db", default="words.db", help="the database; it keeps earlier counts")
    parser.add_argument("--picture", help="the file of the plot, such as words.png")
    given = parser.parse_args(arguments)

    with foldb.open(given.db, keys="str", merge_operator="int64add") as db:
        growth = count(db, words_of(given.files))
    print(f"killed with {killed(given.db)}")
    with foldb.open(given.db) as db:
        counts = db.counters()
        print(f"the killed process counted {counts.get('~survivor')}")
        del counts["~survivor"]
        print(f"{counts.total():,} words, {len(counts):,} different ones")
        for word, number in counts.most_common(10):
            print(f"{number:>8,}  {word}")
        if given.picture:
            plot(counts, growth).savefig(given.picture, dpi=100)
            print(f"wrote {given.picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
