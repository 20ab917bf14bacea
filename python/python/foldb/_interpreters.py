"""Refuses to be imported in a sub-interpreter.

From 3.13 CPython refuses by itself. Before, the engine would live in the sub-interpreter, the main
interpreter could not import it any more, and the process could abort at its exit.
"""

import sys

if sys.version_info < (3, 13):
    try:
        import _xxsubinterpreters as _subs  # type: ignore[import-not-found]
    except ImportError:
        # This build has no sub-interpreters.
        pass
    else:
        if _subs.get_current() != _subs.get_main():
            raise ImportError(
                "foldb works in the main interpreter only, and this is a sub-interpreter: "
                "use threads or processes"
            )
