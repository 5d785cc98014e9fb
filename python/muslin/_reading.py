"""What can be read from a simulation."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _engine
from ._arrays import Floats, Ints, count, output
from .results import Contacts, Picture, StepReport


class Reading:
    """The part of :class:`muslin.Simulation` that only looks."""

    _engine: _engine.Simulation
    _shared: dict[tuple[str, str], tuple[int, npt.NDArray[Any]]]

    @property
    def name(self) -> str:
        """Name of the scene.

        Example:
            >>> import muslin
            >>> muslin.Simulation("hanging_cloth").name
            'hanging_cloth'
        """
        return self._engine.name()

    @property
    def names(self) -> list[str]:
        """Names of all cloths and soft bodies, in the order of the alphabet.

        Example:
            >>> import muslin
            >>> muslin.Simulation("hanging_cloth").names
            ['sheet']
        """
        return self._engine.names()[0]

    @property
    def obstacles(self) -> list[str]:
        """Names of all obstacles.

        Example:
            >>> import muslin
            >>> muslin.Simulation("incline").obstacles
            ['ramp']
        """
        return self._engine.names()[1]

    @property
    def pins(self) -> list[str]:
        """Names of the pins there are now.

        Example:
            >>> import muslin
            >>> muslin.Simulation("hanging_cloth").pins
            ['corners']
        """
        return self._engine.names()[2]

    @property
    def time(self) -> float:
        """Simulated time, s.

        Example:
            >>> import muslin
            >>> muslin.Simulation("hanging_cloth").time
            0.0
        """
        return self._engine.progress()[0]

    @property
    def steps(self) -> int:
        """Steps done.

        Example:
            >>> import muslin
            >>> muslin.Simulation("hanging_cloth").steps
            0
        """
        return self._engine.progress()[1]

    @property
    def frame(self) -> int:
        """Frames complete; 0 is the start.

        Example:
            >>> import muslin
            >>> muslin.Simulation("hanging_cloth").frame
            0
        """
        return self._engine.progress()[2]

    @property
    def frames(self) -> int:
        """Frames that the scene asks for.

        Example:
            >>> import muslin
            >>> muslin.Simulation("hanging_cloth", set={"output.frames": 7}).frames
            7
        """
        return self._engine.progress()[3]

    @property
    def time_step(self) -> float:
        """Length of a step, s.

        Example:
            >>> import muslin
            >>> settings = {"solver.time_step": 0.01, "output.frame_rate": 50}
            >>> muslin.Simulation("hanging_cloth", set=settings).time_step
            0.01
        """
        return self._engine.clock()[0]

    @property
    def steps_per_frame(self) -> int:
        """Steps that make a frame.

        Example:
            >>> import muslin
            >>> settings = {"solver.time_step": 0.01, "output.frame_rate": 50}
            >>> muslin.Simulation("hanging_cloth", set=settings).steps_per_frame
            2
        """
        return self._engine.clock()[1]

    @property
    def threads(self) -> int:
        """Threads in use.

        Example:
            >>> import muslin
            >>> muslin.Simulation("hanging_cloth", threads=2).threads
            2
        """
        return self._engine.clock()[2]

    @property
    def scene(self) -> dict[str, Any]:
        """The scene with all defaults and changes, as it is recorded.

        Example:
            >>> import muslin
            >>> muslin.Simulation("hanging_cloth").scene["solver"]["method"]
            'implicit'
        """
        return tomllib.loads(self._engine.scene())

    def positions(self, name: str, out: Floats | None = None) -> Floats:
        """Positions of a cloth, or of the surface of an obstacle, m.

        Args:
            name: The cloth or obstacle.
            out: An array (N, 3) to write into instead of a new one.

        Returns:
            (N, 3) an array of yours: it does not change when the simulation goes on.

        Example:
            >>> import muslin
            >>> sim = muslin.Simulation("hanging_cloth")
            >>> x = sim.positions("sheet")
            >>> sim.step()
            >>> bool((sim.positions("sheet", out=x) is x))
            True
        """
        into = None if out is None else output("out", out)
        cloths, obstacles, _ = self._engine.names()
        read = self._engine.surface if name in obstacles and name not in cloths else self._engine.positions
        return read(name, into)

    def velocities(self, name: str, out: Floats | None = None) -> Floats:
        """Velocities of a cloth, m/s.

        Args:
            name: The cloth.
            out: An array (N, 3) to write into instead of a new one.

        Returns:
            (N, 3) an array of yours.

        Example:
            >>> import muslin
            >>> float(abs(muslin.Simulation("hanging_cloth").velocities("sheet")).max())
            0.0
        """
        return self._engine.velocities(name, None if out is None else output("out", out))

    def _once(self, what: str, name: str, make: Any) -> npt.NDArray[Any]:
        """Connectivity and what belongs to it: read-only, and made anew only when vertices or faces have changed."""
        now = self._engine.topology()
        kept = self._shared.get((what, name))
        if kept is not None and kept[0] == now:
            return kept[1]
        array: npt.NDArray[Any] = make(name)
        array.flags.writeable = False
        self._shared[what, name] = (now, array)
        return array

    def faces(self, name: str) -> Ints:
        """Faces of a cloth or obstacle: vertex triples, counter-clockwise seen from the front.

        Returns:
            (M, 3) a read-only array that is shared between calls.

        Example:
            >>> import muslin
            >>> sim = muslin.Simulation("hanging_cloth")
            >>> sim.faces("sheet") is sim.faces("sheet")
            True
        """
        return self._once("faces", name, self._engine.faces)

    def tetrahedra(self, name: str) -> Ints:
        """Tetrahedra of a soft body: vertex quadruples, each of positive volume at rest. None of cloth.

        Returns:
            (K, 4) a read-only array that is shared between calls.

        Example:
            >>> import muslin
            >>> scene = muslin.Scene()
            >>> scene.add_soft("block", box={"size": [0.1, 0.1, 0.1], "cells": [1, 1, 1]}, material="rubber")
            >>> muslin.Simulation(scene).tetrahedra("block").shape
            (6, 4)
        """
        return self._once("tetrahedra", name, self._engine.tetrahedra)

    def material(self, name: str) -> Floats:
        """Rest positions of each face's corners in the flat cloth, along warp and weft, m.

        Returns:
            (M, 3, 2) a read-only array that is shared between calls.

        Example:
            >>> import muslin
            >>> sim = muslin.Simulation("hanging_cloth")
            >>> sim.material("sheet").shape[1:]
            (3, 2)
        """
        return self._once("material", name, self._engine.material)

    def masses(self, name: str) -> Floats:
        """Mass of each vertex of a cloth, kg.

        Returns:
            (N,) a read-only array that is shared between calls.

        Example:
            >>> import muslin
            >>> scene = muslin.Scene()
            >>> scene.add_cloth("a", fabric="paper", grid={"size": [1, 1], "cells": [2, 2]})
            >>> float(muslin.Simulation(scene).masses("a").sum().round(6))   # 100 g/m²
            0.1
        """
        return self._once("masses", name, self._engine.masses)

    def contacts(self) -> Contacts:
        """Contacts of the last step.

        Example:
            >>> import muslin
            >>> len(muslin.Simulation("hanging_cloth").contacts())
            0
        """
        cloths, obstacles, _ = self._engine.names()
        return Contacts(*self._engine.contacts(), tuple(cloths), tuple(obstacles))

    def contact_force(self, name: str) -> Floats:
        """Force of all contacts on a cloth or obstacle, mean over the last step, N.

        The method ``impulse`` tells only what its repulsions did, which is less than the force; measure forces with
        ``implicit`` or ``admm``.

        Returns:
            (3,) the force; contacts of a cloth with itself cancel.

        Example:
            >>> import muslin
            >>> print(muslin.Simulation("incline").contact_force("ramp"))
            [0. 0. 0.]
        """
        return np.array(self._engine.contact_force(name))

    @property
    def stats(self) -> StepReport:
        """What the last step reached.

        Raises:
            RuntimeError: Before the first step.

        Example:
            >>> import muslin
            >>> sim = muslin.Simulation("hanging_cloth")
            >>> sim.step()
            >>> sim.stats.residual < 1e-4
            True
        """
        report = self._engine.report()
        if report is None:
            raise RuntimeError("there has been no step yet since the simulation was made or loaded")
        return StepReport._of(json.loads(report))

    @property
    def measures(self) -> dict[str, float]:
        """What the scene asks to be measured, now.

        Example:
            >>> import muslin
            >>> scene = muslin.Scene()
            >>> scene.add_cloth("a", fabric="paper", grid={"size": [1, 1], "cells": [2, 2]}, translate=[0, 0, 3])
            >>> scene.add_measure("height", "height")
            >>> muslin.Simulation(scene).measures
            {'height': 3.0}
        """
        return self._engine.measures()

    def crossings(self) -> list[str]:
        """What crosses what now, in words; exact, and empty in a sound simulation.

        Example:
            >>> import muslin
            >>> muslin.Simulation("hanging_cloth").crossings()
            []
        """
        return [
            f"{who}: {pairs} pairs of triangles, {inside} vertices inside"
            for who, pairs, inside in self._engine.crossings()
        ]

    def show(self, size: tuple[int, int] = (640, 480), contacts: bool = False) -> Picture:
        """A picture of the current state; notebooks show it inline.

        Args:
            size: Width and height in pixels.
            contacts: Whether to draw contacts over everything, coloured by what they do.

        Example:
            >>> import muslin
            >>> muslin.Simulation("hanging_cloth").show(size=(64, 48)).png[1:4]
            b'PNG'
        """
        if not isinstance(size, Sequence) or len(size) != 2:
            raise TypeError(f"size must be width and height in pixels, not {size!r}")
        width, height = (count("size", n, 16) for n in size)
        if max(width, height) > 8192:
            raise ValueError(f"size is {size}; at most 8192 pixels a side can be drawn")
        return Picture(*self._engine.picture([width, height], bool(contacts)))
