"""The threads of a database, and calls on them."""

# The types stand in the stub of the package.
# mypy: ignore-errors

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import foldb


class Home:
    """A database, and the threads that its calls run on."""

    def __init__(self, db, pool):
        self.db = db
        self.pool = pool
        self.feeds = weakref.WeakSet()
        self.is_closed = False

    async def run(self, call, *args, **named):
        if self.is_closed:
            raise closed()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.pool, functools.partial(call, *args, **named))

    def shut(self):
        # The calls that run now end first or raise `Closed`; those that wait for a thread raise it.
        try:
            self.db.close()
        finally:
            for feed in list(self.feeds):
                feed._pool.shutdown()
            self.pool.shutdown()


def closed():
    """Returns the error of a call on a closed database."""
    error = foldb.Closed("the database is closed; open it again")
    error.kind = "Closed"
    return error


def plain(given):
    """Returns the object of `foldb` that an object of this module stands for."""
    return given._own if isinstance(given, Handle) else given


async def to_the_end(call):
    """Runs a call on a thread of its own. A cancelled task still waits for its end."""
    with ThreadPoolExecutor(1, "foldb-aio") as pool:
        future = asyncio.get_running_loop().run_in_executor(pool, call)
        cancelled = None
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError as error:
                cancelled = error
    return future, cancelled


def awaited(owner, *names):
    """Gives a class the calls of another one, on threads."""

    def make(name):
        blocking = getattr(owner, name)

        async def call(self, *args, **named):
            return await self._run(getattr(self._own, name), *args, **named)

        call.__name__, call.__doc__ = name, blocking.__doc__
        call.__signature__ = inspect.signature(blocking)
        return call

    def decorate(cls):
        for name in names:
            call = make(name)
            call.__qualname__, call.__module__ = f"{cls.__name__}.{name}", cls.__module__
            setattr(cls, name, call)
        return cls

    return decorate


class Handle:
    __slots__ = ("_home", "_own", "__weakref__")

    def __init__(self, home, own):
        self._home = home
        self._own = own

    async def _run(self, call, *args, **named):
        args = [plain(given) for given in args]
        named = {name: plain(given) for name, given in named.items()}
        return await self._home.run(call, *args, **named)


class NotBegun:
    """Stands for the object of an `async with` block that has not begun."""

    __slots__ = ()

    def __getattr__(self, name):
        raise RuntimeError("the block has not begun: use `async with` first")


class Serial(Handle):
    """An object whose calls run one after the other, on whatever threads."""

    __slots__ = ("_lock",)

    def __init__(self, home, own, lock=None):
        super().__init__(home, own)
        self._lock = lock or threading.RLock()

    async def _run(self, call, *args, **named):
        def alone(*args, **named):
            with self._lock:
                return call(*args, **named)

        return await super()._run(alone, *args, **named)
