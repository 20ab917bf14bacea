"""Runs the examples of docs/python.md."""

import doctest
import os
import pathlib


def test_the_tutorial(tmp_path, monkeypatch):
    docs = os.environ.get("FOLDB_DOCS") or pathlib.Path(__file__).parents[2] / "docs"
    monkeypatch.chdir(tmp_path)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    page = str(pathlib.Path(docs, "python.md").resolve())
    # The fences end an example; doctest wants an empty line, which each example has.
    failed, tried = doctest.testfile(page, module_relative=False, optionflags=flags)
    assert tried > 40 and failed == 0
