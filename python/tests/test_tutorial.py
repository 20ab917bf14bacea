"""Runs the examples of the pages about Python in docs/."""

import doctest
import os
import pathlib

import pytest


@pytest.mark.parametrize("page, least", [("python.md", 40), ("python_operators.md", 8)])
def test_the_tutorial(tmp_path, monkeypatch, page, least):
    docs = os.environ.get("FOLDB_DOCS") or pathlib.Path(__file__).parents[2] / "docs"
    monkeypatch.chdir(tmp_path)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    page = str(pathlib.Path(docs, page).resolve())
    # The fences end an example; doctest wants an empty line, which each example has.
    failed, tried = doctest.testfile(page, module_relative=False, optionflags=flags)
    assert tried > least and failed == 0
