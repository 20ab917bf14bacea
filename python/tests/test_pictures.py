"""Pictures, and how notebooks show a database, a keyspace and statistics."""

import xml.dom.minidom

import pytest

import foldb


def filled(path):
    db = foldb.open(path, keys="str", merge_operator="int64add")
    pages = db.keyspace("pages<b>&$x_1$", keys="str", merge_operator="int64add")
    large = db.keyspace("large", value_separation_min=1000)
    for number in range(200):
        db.counters().add(str(number))
        pages.put(str(number), b"1" * 100)
        large[b"%d" % (number % 50)] = bytes([number]) * 10_000
    db.flush()
    return db, pages


def parsed(html):
    return xml.dom.minidom.parseString(f"<div>{html}</div>")


def test_notebooks_show_html_that_is_well_formed_and_escaped(tmp_path):
    db, pages = filled(tmp_path / "<i>db")
    for shown in (db, pages, db.stats()):
        html = shown._repr_html_()
        parsed(html)
        assert "pages&lt;b&gt;&amp;$x_1$" in html and "<b>&" not in html
    assert "&lt;i&gt;db" in db._repr_html_() and "open" in db._repr_html_()
    assert "int64add" in db._repr_html_() or "int64add" in pages._repr_html_()
    db.close()
    assert "closed" in db._repr_html_() and "closed" in pages._repr_html_()
    with foldb.open(tmp_path / "<i>db", read_only=True) as reader:
        assert "read-only" in reader._repr_html_()
        parsed(reader.keyspace("large")._repr_html_())


def test_statistics_are_a_dict(tmp_path):
    with foldb.open(tmp_path / "db") as db:
        stats = db.stats()
        assert isinstance(stats, dict) and stats["puts"] == 0 and "levels" in stats
        parsed(stats._repr_html_())


def test_a_notebook_shows_the_largest_of_many_keyspaces(tmp_path):
    with foldb.open(tmp_path / "db") as db:
        for number in range(30):
            db.keyspace(f"own{number:02}")[b"a"] = b"1"
        db.keyspace("own29")[b"b"] = bytes(10_000)
        html = db._repr_html_()
        parsed(html)
        assert "own29" in html and "11 smaller ones" in html


def test_pictures(tmp_path):
    figure = pytest.importorskip("matplotlib.figure")
    db, pages = filled(tmp_path / "db")
    with foldb.open(tmp_path / "empty") as empty:
        pictures = [db.plot(), pages.plot(), empty.plot(), empty.keyspace("own").plot()]
    for picture in pictures:
        assert isinstance(picture, figure.Figure)
        assert picture._repr_png_().startswith(b"\x89PNG")
    titles = [axes.get_title(loc="left") for axes in pictures[0].axes]
    assert titles[0] == "Bytes by level" and len(titles) == 5
    assert any("dead" in title for title in titles)
    db.close()
    assert db.plot()._repr_png_()
    with pytest.raises(foldb.Closed):
        pages.plot()
    with foldb.open(tmp_path / "db", read_only=True) as reader:
        assert reader.plot()._repr_png_() and reader.keyspace("large").plot()._repr_png_()


def test_a_missing_matplotlib_is_named(tmp_path, monkeypatch):
    import sys

    monkeypatch.delitem(sys.modules, "foldb.plots", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with foldb.open(tmp_path / "db") as db:
        with pytest.raises(ImportError, match=r"foldb\[plot\]"):
            db.plot()
