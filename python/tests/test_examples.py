"""Runs the programs of python/examples."""

import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parents[1] / "examples"


def run(tmp_path, *arguments):
    program = str(pathlib.Path(HERE, "count_text.py"))
    ran = subprocess.run(
        [sys.executable, program, *arguments], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_words_of_a_file_are_counted(tmp_path):
    (tmp_path / "text").write_text("the cat and the dog", encoding="utf-8")
    shown = run(tmp_path, "text")
    assert "the killed process counted 1" in shown and "5 words, 4 different ones" in shown
    assert "       2  the\n" in shown
    # A second run adds to the counts.
    assert "10 words, 4 different ones" in run(tmp_path, "text")


def test_the_words_of_the_manual_are_plotted(tmp_path):
    pytest.importorskip("matplotlib")
    shown = run(tmp_path, "--picture", "words.png")
    assert "the killed process counted 1" in shown and "  the\n" in shown
    assert (tmp_path / "words.png").read_bytes().startswith(b"\x89PNG")
