"""Continuous collision detection: will moving features touch, and when at the earliest?

Both functions never miss a contact and never report it later than it happens. The price is an occasional alarm for
features that pass within about two separations of each other.
"""

from __future__ import annotations

import numpy.typing as npt

from . import _engine
from ._arrays import Floats, count, floats, number

__all__ = ["edge_edge", "vertex_face"]


def _times(
    edges: bool, x0: npt.ArrayLike, x1: npt.ArrayLike, separation: float, threads: int
) -> Floats:
    start = floats("x0", x0, (None, 4, 3))
    end = floats("x1", x1, (None, 4, 3))
    if start.shape != end.shape:
        raise ValueError(f"x0 has {len(start)} rows and x1 has {len(end)}; they must be as many")
    return _engine.impact_times(edges, (start, end), number("separation", separation), count("threads", threads))


def vertex_face(
    x0: npt.ArrayLike, x1: npt.ArrayLike, *, separation: float = 1e-6, threads: int = 1
) -> Floats:
    """Times of impact of vertices with triangles.

    Args:
        x0: (N, 4, 3) positions at the start, m: the vertex, then the three corners of the triangle.
        x1: (N, 4, 3) positions at the end, m; everything moves in straight lines.
        separation: Features nearer than this are in contact, m. Keep it below every initial distance.
        threads: Threads to use; 0 for all cores.

    Returns:
        N times in [0, 1], infinity where there is no contact.

    Example:
        >>> import numpy as np, muslin
        >>> x0 = np.array([[[0.2, 0.2, 1.0], [0, 0, 0], [1, 0, 0], [0, 1, 0]]])
        >>> x1 = x0.copy()
        >>> x1[0, 0, 2] = -1.0                      # the vertex falls through the triangle
        >>> print(muslin.ccd.vertex_face(x0, x1).round(4))
        [0.5]
        >>> print(muslin.ccd.vertex_face(x0, x0))   # nothing moves
        [inf]
    """
    return _times(False, x0, x1, separation, threads)


def edge_edge(
    x0: npt.ArrayLike, x1: npt.ArrayLike, *, separation: float = 1e-6, threads: int = 1
) -> Floats:
    """Times of impact of edges with edges.

    Args:
        x0: (N, 4, 3) positions at the start, m: the ends of the first edge, then those of the second.
        x1: (N, 4, 3) positions at the end, m; everything moves in straight lines.
        separation: Features nearer than this are in contact, m. Keep it below every initial distance.
        threads: Threads to use; 0 for all cores.

    Returns:
        N times in [0, 1], infinity where there is no contact.

    Example:
        >>> import numpy as np, muslin
        >>> x0 = np.array([[[-1, 0, 1.0], [1, 0, 1.0], [0, -1, 0], [0, 1, 0]]])
        >>> x1 = x0.copy()
        >>> x1[0, :2, 2] = -1.0
        >>> print(muslin.ccd.edge_edge(x0, x1).round(4))
        [0.5]
    """
    return _times(True, x0, x1, separation, threads)
