"""Columns and tables of foldb for NumPy, pyarrow, pandas and polars, where these are installed."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from foldb._foldb import Column, Scan, Table


def _library(name: str, extra: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        message = f"this needs {name}: pip install 'foldb[{extra}]'"
        raise ImportError(message, name=name) from error


def to_numpy(column: Column) -> Any:
    """Returns a column as an array; as a masked one, if it has nulls."""
    numpy = _library("numpy", "numpy")
    dtype, elements, nulls = column._numpy()
    if dtype == "O":
        array = numpy.empty(len(elements), dtype=object)
        array[:] = elements
    else:
        array = numpy.frombuffer(elements, dtype=dtype)
    if nulls is None:
        return array
    return numpy.ma.MaskedArray(array, mask=numpy.frombuffer(nulls, dtype=bool))


def to_arrow(column: Column) -> Any:
    """Returns a column as an array of pyarrow."""
    return _library("pyarrow", "arrow").array(column)


def to_pandas(column: Column) -> Any:
    """Returns a column as a series of pandas."""
    pandas = _library("pandas", "pandas")
    if column.null_count:
        # A number beside nulls would become a fraction.
        numbers = {"<i8": "Int64", "<u8": "UInt64", "<f8": "Float64"}
        return pandas.Series(column.to_list(), dtype=numbers.get(column._numpy()[0]))
    if _has_pyarrow():
        return to_arrow(column).to_pandas()
    return _aware(to_numpy(column))


def to_polars(column: Column) -> Any:
    """Returns a column as a series of polars."""
    return _library("polars", "polars").Series(column)


def columns_to_numpy(table: Table) -> dict[str, Any]:
    """Returns a table as a dict of arrays."""
    return {name: to_numpy(table[name]) for name in table.names}


def scan_to_numpy(scan: Scan) -> dict[str, Any]:
    """Returns the rest of a scan as a dict of arrays."""
    numpy = _library("numpy", "numpy")
    parts = [columns_to_numpy(table) for table in scan] or [columns_to_numpy(scan._empty())]
    return {name: numpy.concatenate([part[name] for part in parts]) for name in scan.names}


def table_to_arrow(table: Table | Scan) -> Any:
    """Returns a table, or the rest of a scan, as a table of pyarrow."""
    return _library("pyarrow", "arrow").table(table)


def table_to_pandas(table: Table | Scan) -> Any:
    """Returns a table, or the rest of a scan, as a frame of pandas."""
    pandas = _library("pandas", "pandas")
    if _has_pyarrow():
        return table_to_arrow(table).to_pandas()
    return pandas.DataFrame({name: _aware(array) for name, array in table.to_numpy().items()})


def table_to_polars(table: Table | Scan) -> Any:
    """Returns a table, or the rest of a scan, as a frame of polars."""
    return _library("polars", "polars").DataFrame(table)


def _aware(values: Any) -> Any:
    """Returns a series; moments, which NumPy has in UTC, get their time zone."""
    series = _library("pandas", "pandas").Series(values)
    return series.dt.tz_localize("UTC") if values.dtype.kind == "M" else series


def _has_pyarrow() -> bool:
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None
