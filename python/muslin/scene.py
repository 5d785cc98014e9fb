"""Scenes built up in Python."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy.typing as npt

from ._arrays import floats, triangles

__all__ = ["Scene"]


def _surface(V: npt.ArrayLike, F: npt.ArrayLike, texture: npt.ArrayLike | None) -> dict[str, Any]:
    x = floats("V", V, (None, 3))
    surface: dict[str, Any] = {"positions": x, "faces": triangles("F", F, len(x))}
    if texture is not None:
        surface["texture"] = floats("texture", texture, (len(x), 2))
    return surface


class Scene:
    """A scene made piece by piece; everything a scene file can say can be said here.

    Keyword arguments are the keys of the scene file's sections, in SI units; nested sections are dicts. Wherever a list is
    wanted an array will do.

    Args:
        name: Name of the scene, and of the folder it is recorded into by default.
        sections: Sections and keys of the scene, such as ``gravity=[0, 0, -9.81]`` or ``solver={"time_step": 0.01}``.

    Example:
        >>> import muslin
        >>> scene = muslin.Scene("towel", solver={"time_step": 0.01})
        >>> scene.add_cloth("towel", fabric="wool-woven", grid={"size": [0.4, 0.4], "cells": [8, 8]})
        >>> scene.add_obstacle("floor", plane={"point": [0, 0, -0.1]})
        >>> scene.add_pin("corner", cloth="towel", vertices=[0])
        >>> sim = muslin.Simulation(scene)
        >>> sim.names
        ['towel']
    """

    def __init__(self, name: str = "scene", **sections: Any) -> None:
        self.name = name
        """Name of the scene."""
        self._table: dict[str, Any] = deepcopy(sections)

    def _add(self, section: str, name: str, entries: Mapping[str, Any]) -> None:
        group = self._table.setdefault(section, {})
        if not isinstance(group, dict):
            raise TypeError(f"`{section}` of this scene is not a table")
        if name in group:
            raise ValueError(f"there is a {section} `{name}` already; choose another name")
        group[name] = deepcopy(dict(entries))

    def add_cloth(
        self,
        name: str,
        V: npt.ArrayLike | None = None,
        F: npt.ArrayLike | None = None,
        *,
        fabric: str,
        texture: npt.ArrayLike | None = None,
        **keys: Any,
    ) -> None:
        """Adds a piece of cloth: from arrays, or by a key such as ``grid``, ``disc`` or ``mesh``.

        Args:
            name: Its name.
            V: (N, 3) positions, m.
            F: (M, 3) faces, counter-clockwise seen from the front.
            fabric: A fabric that comes with Muslin, one of the scene, or a file; see :func:`muslin.fabrics`.
            texture: (N, 2) positions of the vertices in the flat cloth, warp and weft, m: the rest shape. Without it the
                cloth is at rest as it is given.
            keys: Other keys of ``[cloth.NAME]``, such as ``translate``, ``thickness`` or ``friction``.

        Example:
            >>> import muslin
            >>> scene = muslin.Scene()
            >>> V = [[0, 0, 0], [0.1, 0, 0], [0.1, 0.1, 0], [0, 0.1, 0]]
            >>> scene.add_cloth("patch", V, [[0, 1, 2], [0, 2, 3]], fabric="paper")
            >>> muslin.Simulation(scene).positions("patch").shape
            (4, 3)
        """
        if (V is None) != (F is None):
            raise TypeError("V and F describe a surface; give both or none")
        entries: dict[str, Any] = {**keys, "fabric": fabric}
        if V is not None and F is not None:
            entries["surface"] = _surface(V, F, texture)
        elif texture is not None:
            raise TypeError("texture belongs to V and F")
        self._add("cloth", name, entries)

    def add_soft(self, name: str, **keys: Any) -> None:
        """Adds a soft body: a solid of tetrahedra, by a key such as ``box``, ``ball`` or ``mesh``.

        Args:
            name: Its name.
            keys: Keys of ``[soft.NAME]``: the shape, ``material`` or ``density`` (kg/m³) and ``young`` (Pa), ``translate``
                and others.

        Example:
            >>> import muslin
            >>> scene = muslin.Scene()
            >>> scene.add_soft("lump", ball={"radius": 0.05, "edge": 0.03}, material="gelatin")
            >>> muslin.Simulation(scene).names
            ['lump']
        """
        self._add("soft", name, keys)

    def add_obstacle(
        self,
        name: str,
        V: npt.ArrayLike | None = None,
        F: npt.ArrayLike | None = None,
        **keys: Any,
    ) -> None:
        """Adds something that cloth meets: from arrays, or by a key such as ``sphere``, ``box`` or ``plane``.

        Args:
            name: Its name.
            V: (N, 3) positions, m.
            F: (M, 3) faces, counter-clockwise seen from outside.
            keys: Keys of ``[obstacle.NAME]``, such as ``translate``, ``friction`` or ``keyframes``.

        Example:
            >>> import muslin
            >>> scene = muslin.Scene()
            >>> scene.add_obstacle("ball", sphere={"radius": 0.1}, friction=0.4)
            >>> scene.to_dict()["obstacle"]["ball"]["friction"]
            0.4
        """
        if (V is None) != (F is None):
            raise TypeError("V and F describe a surface; give both or none")
        entries = dict(keys)
        if V is not None and F is not None:
            entries["surface"] = _surface(V, F, None)
        self._add("obstacle", name, entries)

    def add_pin(
        self, name: str, *, cloth: str | None = None, soft: str | None = None, **keys: Any
    ) -> None:
        """Adds vertices that are held or led.

        Args:
            name: Its name.
            cloth: The cloth they belong to,
            soft: or the soft body.
            keys: Keys of ``[pin.NAME]``: one of ``vertices``, ``nearest``, ``box``, ``sphere``; ``axes``, ``keyframes``,
                ``path``, ``until``.

        Example:
            >>> import muslin
            >>> scene = muslin.Scene()
            >>> scene.add_pin("corner", cloth="towel", vertices=[0], until=1.0)
            >>> scene.to_dict()["pin"]["corner"]["until"]
            1.0
        """
        if (cloth is None) == (soft is None):
            raise TypeError("a pin holds vertices of one body; give cloth or soft")
        owner = {"soft": soft} if cloth is None else {"cloth": cloth}
        self._add("pin", name, {**keys, **owner})

    def add_measure(self, name: str, kind: str, **keys: Any) -> None:
        """Adds something that is measured at every step.

        Args:
            name: Its name in :attr:`Simulation.measures`.
            kind: What is measured, such as ``height`` or ``contact_force``.
            keys: Keys of ``[[measure]]``: ``of``, ``direction``, ``points``, ``expect``.

        Example:
            >>> import muslin
            >>> scene = muslin.Scene()
            >>> scene.add_measure("fastest", "largest_speed")
            >>> scene.to_dict()["measure"]
            [{'name': 'fastest', 'kind': 'largest_speed'}]
        """
        measures = self._table.setdefault("measure", [])
        if not isinstance(measures, list):
            raise TypeError("`measure` of this scene is not a list")
        measures.append({"name": name, "kind": kind, **deepcopy(keys)})

    def to_dict(self) -> dict[str, Any]:
        """The scene as a dict, as :class:`Simulation` takes it.

        Example:
            >>> import muslin
            >>> muslin.Scene(gravity=[0, 0, 0]).to_dict()
            {'gravity': [0, 0, 0]}
        """
        return deepcopy(self._table)
