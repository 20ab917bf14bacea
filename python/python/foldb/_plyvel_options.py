"""Arguments of plyvel, as foldb takes them."""

from __future__ import annotations

from typing import Any

import foldb


def bytes_of(name: str, given: Any) -> Any:
    if given is not None and not isinstance(given, (bytes, bytearray, memoryview)):
        raise TypeError(f"{name}: expected bytes, not {type(given).__name__}")
    return given


def comparator_of(compare: Any, name: Any) -> foldb.Comparator:
    # LevelDB lets keys of different bytes be equal.
    return foldb.Comparator(name.decode(), compare, equal_keys_may_differ=True)


def options_of(
    paranoid_checks: Any,
    write_buffer_size: Any,
    max_open_files: Any,
    lru_cache_size: Any,
    block_size: Any,
    block_restart_interval: Any,
    max_file_size: Any,
    compression: Any,
    bloom_filter_bits: Any,
    comparator: Any,
    comparator_name: Any,
) -> dict[str, Any]:
    numbers = {
        "write_buffer_size": write_buffer_size,
        "max_open_files": max_open_files,
        "lru_cache_size": lru_cache_size,
        "block_size": block_size,
        "block_restart_interval": block_restart_interval,
        "max_file_size": max_file_size,
        "bloom_filter_bits": bloom_filter_bits,
    }
    for name, number in numbers.items():
        if number is not None and not isinstance(number, int):
            raise TypeError(f"{name}: expected an int, not {type(number).__name__}")
    if isinstance(compression, bytes):
        compression = compression.decode()
    if compression not in (None, "snappy", False, True, "none"):
        raise ValueError(f"compression: expected 'snappy' or None, not {compression!r}")
    if comparator_name is not None and not isinstance(comparator_name, bytes):
        raise TypeError("comparator_name: expected bytes")
    if (comparator is None) != (comparator_name is None):
        raise ValueError("comparator and comparator_name: give both, or none")
    if comparator is not None:
        if not callable(comparator):
            raise TypeError("comparator: expected a callable")
    options: dict[str, Any] = {
        "compression": "snappy" if compression in ("snappy", True) else "none",
    }
    if comparator is not None:
        options["comparator"] = comparator_of(comparator, comparator_name)
    if write_buffer_size is not None:
        options["write_buffer_size"] = max(write_buffer_size, 1 << 16)
    if lru_cache_size is not None:
        options["block_cache_size"] = lru_cache_size
    if block_size is not None:
        options["block_size"] = block_size
    if bloom_filter_bits:
        options["bloom_bits"] = bloom_filter_bits
    return options
