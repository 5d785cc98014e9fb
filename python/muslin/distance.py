"""Distances between points, edges, triangles and surfaces, robust for slivers and parallel edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from . import _engine
from ._arrays import Floats, Ints, count, floats, triangles as _triangles

__all__ = ["SurfacePoints", "edge_edge", "point_triangle", "to_surface"]


@dataclass(frozen=True)
class SurfacePoints:
    """The closest points of a surface; made by :func:`to_surface`.

    Example:
        >>> import muslin
        >>> V, F = [[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]
        >>> type(muslin.distance.to_surface([[0, 0, 1]], V, F)).__name__
        'SurfacePoints'
    """

    distance: Floats
    """(N,) distances, m; negative behind the surface."""
    position: Floats
    """(N, 3) the closest points, m."""
    face: Ints
    """(N,) the faces on which they are."""


def point_triangle(
    points: npt.ArrayLike, triangles: npt.ArrayLike, *, threads: int = 1
) -> tuple[Floats, Floats]:
    """Distances of points to triangles, one each.

    Args:
        points: (N, 3) points, m.
        triangles: (N, 3, 3) corners, m.
        threads: Threads to use; 0 for all cores.

    Returns:
        (N,) distances in m, and (N, 3) weights of the corners that make the closest points.

    Example:
        >>> import muslin
        >>> d, w = muslin.distance.point_triangle([[0, 0, 2]], [[[0, 0, 0], [1, 0, 0], [0, 1, 0]]])
        >>> print(d, w)
        [2.] [[1. 0. 0.]]
    """
    p = floats("points", points, (None, 3))
    t = floats("triangles", triangles, (None, 3, 3))
    return _engine.point_triangle_distances((p, t), count("threads", threads))


def edge_edge(
    first: npt.ArrayLike, second: npt.ArrayLike, *, threads: int = 1
) -> tuple[Floats, Floats]:
    """Distances of edges, pair by pair.

    Args:
        first: (N, 2, 3) ends, m.
        second: (N, 2, 3) ends, m.
        threads: Threads to use; 0 for all cores.

    Returns:
        (N,) distances in m, and (N, 2) places of the closest points along both edges, from 0 to 1.

    Example:
        >>> import muslin
        >>> d, s = muslin.distance.edge_edge([[[0, 0, 0], [1, 0, 0]]], [[[0.5, -1, 3], [0.5, 1, 3]]])
        >>> print(d, s)
        [3.] [[0.5 0.5]]
    """
    a = floats("first", first, (None, 2, 3))
    b = floats("second", second, (None, 2, 3))
    return _engine.edge_edge_distances((a, b), count("threads", threads))


def to_surface(
    points: npt.ArrayLike, V: npt.ArrayLike, F: npt.ArrayLike, *, threads: int = 1
) -> SurfacePoints:
    """Signed distances of points to a triangle surface.

    Args:
        points: (N, 3) points, m.
        V: (M, 3) vertices, m.
        F: (K, 3) faces, counter-clockwise seen from the front.
        threads: Threads to use; 0 for all cores.

    Example:
        >>> import muslin
        >>> V, F = [[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]
        >>> found = muslin.distance.to_surface([[0.2, 0.2, 0.5], [0.2, 0.2, -0.5]], V, F)
        >>> print(found.distance, found.face)
        [ 0.5 -0.5] [0 0]
    """
    p = floats("points", points, (None, 3))
    x = floats("V", V, (None, 3))
    f = _triangles("F", F, len(x))
    return SurfacePoints(*_engine.closest_points(p, x, f, count("threads", threads)))
