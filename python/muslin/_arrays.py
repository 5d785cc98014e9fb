"""Arrays of users made fit for the engine, or refused with a message that says what is wrong with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


def _shape_text(shape: tuple[int | None, ...]) -> str:
    parts = ["N" if n is None else str(n) for n in shape]
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def _check_shape(name: str, found: tuple[int, ...], wanted: tuple[int | None, ...]) -> None:
    fits = len(found) == len(wanted) and all(w in (None, f) for f, w in zip(found, wanted))
    if not fits:
        raise ValueError(f"{name} has shape {found}, but {_shape_text(wanted)} is needed")


def as_array(name: str, value: npt.ArrayLike) -> npt.NDArray[Any]:
    """Anything that NumPy can make an array of."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, but nothing can be left out; fill it or choose the rows to use")
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} is not an array: {error}") from None


def floats(name: str, value: npt.ArrayLike, shape: tuple[int | None, ...]) -> Floats:
    """Finite numbers of a shape as contiguous float64; no copy is made of what is that already."""
    array = as_array(name, value)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} has dtype {array.dtype}, but real numbers (float64) are needed")
    _check_shape(name, array.shape, shape)
    result: Floats = np.require(array, np.float64, ["C", "A"])
    finite = np.isfinite(result)
    if not finite.all():
        place = tuple(int(i) for i in np.argwhere(~finite)[0])
        index = ", ".join(map(str, place))
        raise ValueError(f"{name}[{index}] is {result[place]}; all numbers must be finite")
    return result


def indices(
    name: str, value: npt.ArrayLike, shape: tuple[int | None, ...], low: int = 0, high: int = 2**31
) -> Ints:
    """Whole numbers of a shape, at least `low` and below `high`, as contiguous int32."""
    array = as_array(name, value)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} has dtype {array.dtype}, but whole numbers (int32) are needed")
    _check_shape(name, array.shape, shape)
    bad = (array < low) | (array >= high)
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        index = ", ".join(map(str, place))
        raise ValueError(f"{name}[{index}] is {array[place]}; it must be from {low} to {high - 1}")
    return np.require(array, np.int32, ["C", "A"])


def triangles(name: str, value: npt.ArrayLike, vertices: int) -> Ints:
    """Faces (M, 3) that name existing vertices."""
    return indices(name, value, (None, 3), 0, max(vertices, 1))


def output(name: str, value: Any) -> Floats:
    """An array that can be written into."""
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{name} must be a NumPy array, not {type(value).__name__}")
    if value.dtype != np.float64:
        raise TypeError(f"{name} has dtype {value.dtype}, but float64 is needed")
    if not value.flags.writeable:
        raise ValueError(f"{name} is read-only")
    if not (value.flags.c_contiguous and value.flags.aligned):
        raise ValueError(f"{name} is not contiguous in memory, or not aligned")
    return value


def count(name: str, value: int, low: int = 0) -> int:
    """A whole number, at least `low`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be a whole number, not {value!r}")
    if value < low:
        raise ValueError(f"{name} is {value}; it must be {low} or more")
    if value >= 2**63:
        raise ValueError(f"{name} is {value}, which is too large")
    return int(value)


def number(name: str, value: float) -> float:
    """A number; which ones make sense is for the engine to say."""
    if isinstance(value, (bool, str, bytes)):
        raise TypeError(f"{name} must be a number, not {value!r}")
    try:
        return float(value)
    except TypeError:
        raise TypeError(f"{name} must be a number, not {value!r}") from None
    except OverflowError:
        raise ValueError(f"{name} is too large") from None
