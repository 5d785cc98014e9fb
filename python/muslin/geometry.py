"""The exact judge of crossing triangles."""

from __future__ import annotations

import numpy.typing as npt

from . import _engine
from ._arrays import Ints, count, floats, triangles

__all__ = ["intersections"]


def intersections(
    V: npt.ArrayLike,
    F: npt.ArrayLike,
    V2: npt.ArrayLike | None = None,
    F2: npt.ArrayLike | None = None,
    *,
    threads: int = 1,
) -> Ints:
    """Pairs of triangles that cross, exactly: within one mesh, or between two.

    Touching counts. Triangles of one mesh that share vertices by index cross if they meet anywhere else.

    Args:
        V: (N, 3) vertices, m.
        F: (M, 3) faces.
        V2: Vertices of a second mesh, m; with it, pairs of a face of the first and a face of the second are found.
        F2: Its faces.
        threads: Threads to use; 0 for all cores.

    Returns:
        (K, 2) faces, in ascending order.

    Example:
        >>> import muslin
        >>> V = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, -1], [0.2, 0.2, 1], [0.3, 0.2, 1]]
        >>> print(muslin.intersections(V, [[0, 1, 2], [3, 4, 5]]))
        [[0 1]]
    """
    if (V2 is None) != (F2 is None):
        raise TypeError("V2 and F2 describe a second mesh; give both or none")
    x = floats("V", V, (None, 3))
    f = triangles("F", F, len(x))
    n = count("threads", threads)
    if V2 is None or F2 is None:
        return _engine.self_intersections(x, f, n)
    y = floats("V2", V2, (None, 3))
    g = triangles("F2", F2, len(y))
    return _engine.intersections_between((x, f), (y, g), n)
