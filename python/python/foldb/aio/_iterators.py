"""Ranges and feeds, a bounded number of entries ahead."""

# The types stand in the stub of the package.
# mypy: ignore-errors

from __future__ import annotations

import asyncio
import functools
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from foldb.aio._threads import Serial, closed, plain

# The most entries, and about the most bytes, that a range reads ahead in one step on a thread.
_MOST_AHEAD = 256
_MOST_BYTES = 1 << 20
# How long one step of a feed waits, in seconds. After a cancel its thread waits no longer.
_STEP = 0.1


class _Ahead(Serial):
    """An iterator whose steps on a thread leave what they read in a queue.

    So a cancelled step loses nothing: the next one finds it there.
    """

    __slots__ = ("_begin", "_failed", "_is_done", "_ready")

    def __init__(self, home, begin, lock=None):
        super().__init__(home, None, lock)
        self._begin = begin
        self._failed = None
        self._is_done = False
        self._ready = deque()

    def __aiter__(self):
        return self

    async def __anext__(self):
        while True:
            if self._home.is_closed:
                raise closed()
            if self._ready:
                return self._ready.popleft()
            if self._failed is not None:
                raise self._failed
            if self._is_done:
                raise StopAsyncIteration
            await self._step()

    async def aclose(self):
        """Lets go of what the iterator holds."""
        self._is_done = True
        self._ready.clear()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_exception):
        await self.aclose()


class Entries(_Ahead):
    """An asynchronous iterator over entries. It reads at most 256 entries ahead."""

    __slots__ = ("_round",)

    _most = _MOST_AHEAD

    def __init__(self, home, begin, args, named, lock=None):
        args = [plain(given) for given in args]
        named = {name: plain(given) for name, given in named.items()}
        super().__init__(home, functools.partial(begin, *args, **named), lock)
        self._round = min(16, self._most)

    async def _step(self):
        await self._run(self._fill)

    def _fill(self):
        if self._ready or self._is_done:
            return
        if self._own is None:
            self._own = self._begin()
        try:
            self._read(self._own)
        except Exception as error:
            # What was read before the fault comes first.
            self._failed = error
        if self._is_done:
            self._own = None

    def _read(self, entries):
        count = size = 0
        for entry in islice(entries, self._round):
            # The loop may take it at once, if the step was cancelled.
            self._ready.append(entry)
            count += 1
            size += sum(map(_size, entry)) if isinstance(entry, tuple) else _size(entry)
            if size >= _MOST_BYTES:
                break
        else:
            self._is_done = self._is_done or count < self._round
        self._round = min(2 * self._round, self._most)

    async def aclose(self):
        """Lets go of what the iterator holds."""
        await super().aclose()
        self._own = None


class Scan(Entries):
    """An asynchronous iterator over tables. It reads one table ahead."""

    __slots__ = ()

    _most = 1


def _size(part):
    return len(part) if isinstance(part, bytes) else 0


class Updates(_Ahead):
    """The updates after a position, as an asynchronous iterator. `updates` of a database makes it.

    It has a thread of its own, because it waits most of the time.
    """

    __slots__ = ("_follow", "_pool", "_position")

    def __init__(self, home, begin, follow):
        super().__init__(home, begin)
        self._follow = follow
        self._position = None
        self._pool = ThreadPoolExecutor(1, "foldb-aio-feed")
        home.feeds.add(self)

    async def __anext__(self):
        update = await super().__anext__()
        self._position = update.position
        return update

    @property
    def position(self):
        """The position after the last update that was read, as bytes; `None` before the first."""
        return self._position

    async def _step(self):
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._pool, self._fill)

    def _fill(self):
        with self._lock:
            if self._ready or self._is_done:
                return
            if self._own is None:
                self._own = self._begin()
            update = next(self._own, None)
            if update is not None:
                self._ready.append(update)
            elif self._follow:
                self._own.wait(_STEP)
            else:
                self._is_done = True

    async def aclose(self):
        """Lets go of what the iterator holds, and ends its thread."""
        await super().aclose()
        self._pool.shutdown(wait=False)
