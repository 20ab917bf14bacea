# Writes pyarrow.parquet: every type that an import reads. pyarrow.jsonl has its rows as
# JSON lines.
import datetime as dt
import decimal
import sys

import pyarrow as pa
import pyarrow.parquet as pq

D = decimal.Decimal
NANOS = 1700000000123456789
pq.write_table(
    pa.table(
        {
            "k": pa.array(["a", "b", "c"]).dictionary_encode(),
            "i8": pa.array([1, -2, None], pa.int8()),
            "u64": pa.array([0, 2**64 - 1, 5], pa.uint64()),
            "i64": pa.array([-(2**63), 2**53 + 1, 7]),
            "f16": pa.array([0.5, 1.5, None], pa.float16()),
            "f32": pa.array([0.1, float("nan"), 1e20], pa.float32()),
            "f64": pa.array([0.1, float("inf"), 3.0]),
            "b": pa.array([True, None, False]),
            "bin": pa.array([b"\xff\x00", b"text", None]),
            "fix": pa.array([b"abcd", b"\xff\xff\xff\xff", None], pa.binary(4)),
            "date": pa.array([dt.date(2024, 1, 31), dt.date(1901, 2, 3), None]),
            "ts_ms": pa.array([1700000000123, -1, None], pa.timestamp("ms")),
            "ts_us_utc": pa.array([1700000000123456, -1, None], pa.timestamp("us", "UTC")),
            "ts_ns": pa.array([NANOS, -1, None], pa.timestamp("ns")),
            "ts_ns_utc": pa.array([NANOS, -1, None], pa.timestamp("ns", "Europe/Berlin")),
            "t_ms": pa.array([1000, 86399999, None], pa.time32("ms")),
            "t_ns": pa.array([1, 86399999999999, None], pa.time64("ns")),
            "t_us": pa.array([1, 2, None], pa.time64("us")),
            "dec": pa.array([D("12.50"), D("-0.05"), None], pa.decimal128(9, 2)),
            "dec38": pa.array(
                [D("123456789012345678901234567890.12"), D("-1.00"), None], pa.decimal128(38, 2)
            ),
            "list": pa.array([[1, None, 2], [], None]),
            "ll": pa.array([[[1], []], None, [None, [2, 3]]]),
            "lstr": pa.array([["x", "y"], [], [None]]),
            "lts": pa.array([[NANOS], [], None], pa.list_(pa.timestamp("ns"))),
            "struct": pa.array(
                [{"x": 1, "y": "q"}, None, {"x": None, "y": None}],
                pa.struct([("x", pa.int32()), ("y", pa.string())]),
            ),
            "ls": pa.array(
                [[{"x": 1}], [], [{"x": None}, None]], pa.list_(pa.struct([("x", pa.int32())]))
            ),
            "map": pa.array(
                [[("k1", 1), ("k2", None)], [], None], pa.map_(pa.string(), pa.int64())
            ),
            "mapi": pa.array(
                [[(1, [1.5])], [], None], pa.map_(pa.int64(), pa.list_(pa.float64()))
            ),
            "nul": pa.array([None, None, None]),
            "lv": pa.array(["x", "y", None], pa.large_string()),
            "sv": pa.array(["x", "y", None], pa.string_view()),
            "tz": pa.array(['it"s\n', "\u2028\u00e9", ""]),
        }
    ),
    sys.argv[1],
)
