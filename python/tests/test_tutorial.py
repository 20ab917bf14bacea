"""Runs the examples of the pages on Python."""

import doctest
import os
import pathlib

import pytest


def run(page, tmp_path, monkeypatch):
    docs = os.environ.get("FOLDB_DOCS") or pathlib.Path(__file__).parents[2] / "docs"
    monkeypatch.chdir(tmp_path)
    flags = doctest.NORMALIZE_WHITESPACE
    path = str(pathlib.Path(docs, page).resolve())
    # The fences end an example; doctest wants an empty line, which each example has.
    failed, tried = doctest.testfile(path, module_relative=False, optionflags=flags)
    assert failed == 0
    return tried


def test_the_tutorial(tmp_path, monkeypatch):
    assert run("python.md", tmp_path, monkeypatch) > 40


def test_the_page_on_columns(tmp_path, monkeypatch):
    for library in ("numpy", "pyarrow", "pandas", "polars"):
        pytest.importorskip(library)
    assert run("python_columns.md", tmp_path, monkeypatch) > 15
