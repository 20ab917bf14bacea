"""Runs the examples of docs/python_from.md: both sides of each section."""

import doctest
import os
import pathlib
import re

import pytest

DOCS = os.environ.get("FOLDB_DOCS") or pathlib.Path(__file__).parents[2] / "docs"
PACKAGES = {"SQLite": "sqlite3"}


def sections():
    page = pathlib.Path(DOCS, "python_from.md").read_text(encoding="utf-8")
    return re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", page, re.M | re.S)


@pytest.mark.parametrize("name, text", sections(), ids=[name for name, _ in sections()])
def test_coming_from(name, text, tmp_path, monkeypatch):
    pytest.importorskip(PACKAGES.get(name, name))
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(text, {}, name, "python_from.md", 0)
    assert len(test.examples) > 5
    failed, _ = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
    assert failed == 0


def test_every_store_of_the_issue_has_a_section():
    names = [name for name, _ in sections()]
    assert names == ["lmdb", "rocksdict", "diskcache", "shelve", "SQLite"]
