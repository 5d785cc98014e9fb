"""What can be changed in a simulation between steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import Floats, Ints, as_array, floats, indices, number
from ._reading import Reading
from .results import Pose


def _quaternion(rotation: npt.ArrayLike) -> list[float]:
    """(x, y, z, w) from a quaternion or a rotation matrix."""
    given = as_array("rotation", rotation)
    if given.shape == (4,):
        return [float(c) for c in floats("rotation", given, (4,))]
    if given.shape != (3, 3):
        raise ValueError(
            f"rotation has shape {given.shape}, but a quaternion (4,) as x, y, z, w or a matrix (3, 3) is needed"
        )
    m = floats("rotation", given, (3, 3))
    if not np.allclose(m @ m.T, np.eye(3), atol=1e-6) or np.linalg.det(m) < 0:
        raise ValueError("rotation is not a rotation matrix: its rows must be orthonormal and right-handed")
    # The eigenvector of the largest eigenvalue is the quaternion, to full precision for every angle.
    k = np.array(
        [
            [m[0, 0] - m[1, 1] - m[2, 2], m[1, 0] + m[0, 1], m[2, 0] + m[0, 2], m[2, 1] - m[1, 2]],
            [m[1, 0] + m[0, 1], m[1, 1] - m[0, 0] - m[2, 2], m[2, 1] + m[1, 2], m[0, 2] - m[2, 0]],
            [m[2, 0] + m[0, 2], m[2, 1] + m[1, 2], m[2, 2] - m[0, 0] - m[1, 1], m[1, 0] - m[0, 1]],
            [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], m[0, 0] + m[1, 1] + m[2, 2]],
        ]
    )
    return [float(c) for c in np.linalg.eigh(k)[1][:, -1]]


def _duration(duration: float | None) -> float | None:
    return None if duration is None else number("duration", duration)


class Steering(Reading):
    """The part of :class:`muslin.Simulation` that changes it from outside."""

    def set(self, path: str, value: Any) -> None:
        """Changes a value of the scene between steps, as ``--set`` does before them.

        The state stays. The scene is built anew, so that files it names are read again. A change that gives the cloth other
        vertices is refused; the time step can change where a frame is complete, the frame rate before the first step.

        Args:
            path: Dotted path, such as ``obstacle.floor.friction``.
            value: The new value, in the unit of the scene file.

        Example:
            >>> import muslin
            >>> sim = muslin.Simulation("hanging_cloth")
            >>> sim.set("gravity", [0, 0, -1.62])
            >>> sim.scene["gravity"]
            [0.0, 0.0, -1.62]
        """
        self._engine.change({path: value})
        self._shared.clear()

    def set_positions(self, name: str, positions: npt.ArrayLike) -> None:
        """Puts the vertices of a cloth elsewhere.

        What crosses there is left out of contact until it has parted.

        Args:
            name: The cloth.
            positions: (N, 3) positions, m.

        Example:
            >>> import muslin
            >>> sim = muslin.Simulation("hanging_cloth")
            >>> sim.set_positions("sheet", sim.positions("sheet") + [0, 0, 1])
        """
        self._engine.set_positions(name, floats("positions", positions, (None, 3)))

    def set_velocities(self, name: str, velocities: npt.ArrayLike) -> None:
        """Gives the vertices of a cloth other velocities.

        Args:
            name: The cloth.
            velocities: (N, 3) velocities, m/s.

        Example:
            >>> import muslin
            >>> sim = muslin.Simulation("hanging_cloth")
            >>> sim.set_velocities("sheet", 0.5 * sim.velocities("sheet"))
        """
        self._engine.set_velocities(name, floats("velocities", velocities, (None, 3)))

    def forces(self, name: str) -> Floats:
        """Forces that :meth:`set_forces` has put on a cloth, N.

        Example:
            >>> import muslin
            >>> float(muslin.Simulation("hanging_cloth").forces("sheet").sum())
            0.0
        """
        return self._engine.forces(name)

    def set_forces(self, name: str, forces: npt.ArrayLike) -> None:
        """Puts a force on each vertex of a cloth, beside gravity and those of the scene, until it is changed.

        Args:
            name: The cloth.
            forces: (N, 3) forces, N; or (3,) for the same force on every vertex.

        Example:
            >>> import muslin
            >>> sim = muslin.Simulation("hanging_cloth")
            >>> sim.set_forces("sheet", [0, 1e-4, 0])     # a breeze of 0.1 mN on every vertex
            >>> sim.set_forces("sheet", [0, 0, 0])        # and none
        """
        given = as_array("forces", forces)
        if given.ndim == 1:
            given = np.broadcast_to(floats("forces", given, (3,)), (len(self.masses(name)), 3))
        self._engine.set_forces(name, floats("forces", given, (None, 3)))

    def pose(self, obstacle: str) -> Pose:
        """Where an obstacle is now.

        Example:
            >>> import muslin
            >>> muslin.Simulation("incline").pose("ramp").scale
            1.0
        """
        position, rotation, scale = self._engine.pose(obstacle)
        return Pose(np.array(position), np.array(rotation), scale)

    def move(
        self,
        obstacle: str,
        position: npt.ArrayLike | None = None,
        rotation: npt.ArrayLike | None = None,
        scale: float | None = None,
        *,
        duration: float | None = None,
    ) -> None:
        """Drives an obstacle to a pose, evenly; cloth feels its velocity and friction.

        From now on the obstacle is driven from here and not by the scene's keyframes or path.

        Args:
            obstacle: Its name.
            position: (3,) where its origin has to be, m; by default where it is.
            rotation: (4,) quaternion x, y, z, w or (3, 3) matrix; by default as it is. It turns the shorter way.
            scale: Size factor; by default as it is.
            duration: Time in which to get there, s; by default the next step. With 0 it jumps, and cloth does not feel it.

        Example:
            >>> import muslin
            >>> sim = muslin.Simulation("incline")
            >>> sim.move("ramp", position=[0, 0, -0.001])   # reached at the end of the next step
            >>> sim.step()
            >>> print(sim.pose("ramp").position)
            [ 0.     0.    -0.001]
        """
        here = self.pose(obstacle)
        to = here.position if position is None else floats("position", position, (3,))
        turned = [float(c) for c in here.rotation] if rotation is None else _quaternion(rotation)
        size = here.scale if scale is None else number("scale", scale)
        self._engine.drive(obstacle, [float(c) for c in to], turned, size, _duration(duration))

    def pin(self, name: str, cloth: str, vertices: npt.ArrayLike, axes: str = "xyz") -> None:
        """Holds vertices of a cloth where they are now, until :meth:`release`.

        Args:
            name: A name for the pin.
            cloth: The cloth.
            vertices: (N,) vertices, counted from 0 as in :meth:`positions`.
            axes: Which coordinates are held: some of x, y, z.

        Example:
            >>> import muslin
            >>> scene = muslin.Scene()
            >>> scene.add_cloth("a", fabric="paper", grid={"size": [1, 1], "cells": [2, 2]})
            >>> sim = muslin.Simulation(scene)
            >>> sim.pin("hand", "a", [4])
            >>> sim.pins
            ['hand']
        """
        if not axes or any(a not in "xyz" for a in axes):
            raise ValueError(f"axes is {axes!r}; give some of x, y, z")
        held = indices("vertices", vertices, (None,))
        self._engine.hold(name, cloth, held.tolist(), ["x" in axes, "y" in axes, "z" in axes])

    def move_pin(self, name: str, positions: npt.ArrayLike, *, duration: float | None = None) -> None:
        """Leads the vertices of a pin evenly to other places; the scene's motion of the pin is forgotten.

        Args:
            name: The pin.
            positions: (N, 3) places, m, in the order of :meth:`pin_vertices`.
            duration: Time in which to get there, s; by default the next step.

        Example:
            >>> import muslin
            >>> sim = muslin.Simulation("hanging_cloth")
            >>> held = sim.positions("sheet")[sim.pin_vertices("corners")]
            >>> sim.move_pin("corners", held + [0, 0, 0.01], duration=0.1)
        """
        places = floats("positions", positions, (None, 3))
        self._engine.lead(name, places, _duration(duration))

    def release(self, name: str) -> None:
        """Lets go of a pin, of the scene or of your own.

        Example:
            >>> import muslin
            >>> sim = muslin.Simulation("hanging_cloth")
            >>> sim.release("corners")
            >>> sim.pins
            []
        """
        self._engine.release(name)

    def pin_vertices(self, name: str) -> Ints:
        """Vertices that a pin holds, ascending, counted from 0 in their cloth.

        Example:
            >>> import muslin
            >>> len(muslin.Simulation("hanging_cloth").pin_vertices("corners")) > 0
            True
        """
        return self._engine.pin(name)[1]

    def pin_forces(self, name: str) -> Floats:
        """Force with which a pin held each of its vertices in the last step, N.

        Returns:
            (N, 3) forces in the order of :meth:`pin_vertices`.

        Raises:
            RuntimeError: If the simulation was not made with ``watch_pins=True`` and its scene measures no reaction.

        Example:
            >>> import muslin
            >>> sim = muslin.Simulation("hanging_cloth", watch_pins=True)
            >>> sim.run(2, progress=False)
            >>> bool(sim.pin_forces("corners")[:, 2].sum() > 0)    # it carries weight
            True
        """
        forces = self._engine.pin(name)[2]
        if forces is None:
            raise RuntimeError("forces of pins are not measured; make the simulation with watch_pins=True")
        return forces
