"""The simulation: made from a scene, stepped, read, changed, branched, recorded."""

from __future__ import annotations

import json
import os
import sys
import time
import tomllib
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _engine
from ._arrays import Floats, Ints, count, floats, indices, output
from .results import Contacts, Picture, Pose, StepReport
from .scene import Scene

__all__ = ["Simulation"]

PathLike = str | os.PathLike[str]


def _quaternion(rotation: npt.ArrayLike) -> list[float]:
    """(x, y, z, w) from a quaternion or a rotation matrix."""
    given = np.asarray(rotation)
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


class Simulation:
    """Cloth in motion, in SI units.

    The same scene gives the same bits as ``muslin run``, whatever the number of threads. A simulation is used by one thread
    at a time; stepping releases the interpreter lock, so that others run meanwhile.

    Args:
        scene: A scene file, the name of a scene that comes with Muslin (see :func:`muslin.scenes`), a dict with the sections
            of a scene file, or a :class:`Scene`.
        set: Values to change by their dotted paths, as ``--set`` does.
        threads: Threads of this simulation; 0 for all cores.
        name: Name of the scene, if it is a dict.
        watch_pins: Whether the forces of pins are measured, for :meth:`pin_forces`; it takes one more assembly a step.

    Raises:
        SceneError: If the scene is not right, with the place and the remedy.

    Example:
        >>> import muslin
        >>> sim = muslin.Simulation("hanging_cloth", set={"solver.time_step": 0.01})
        >>> sim.run(2, progress=False)
        >>> sim.frame, sim.positions("sheet").shape[1]
        (2, 3)
    """

    def __init__(
        self,
        scene: PathLike | Mapping[str, Any] | Scene,
        *,
        set: Mapping[str, Any] | None = None,
        threads: int = 1,
        name: str | None = None,
        watch_pins: bool = False,
    ) -> None:
        changes = dict(set or {})
        n = count("threads", threads)
        if isinstance(scene, Scene):
            name = name or scene.name
            scene = scene.to_dict()
        if isinstance(scene, Mapping):
            made = _engine.Simulation.from_dict(name or "scene", dict(scene), changes, n)
        else:
            made = _engine.Simulation.from_file(os.fspath(scene), changes, n)
        self._engine, note = made
        if watch_pins:
            self._engine.watch_pins()
        self._shared: dict[tuple[str, str], tuple[int, npt.NDArray[Any]]] = {}
        if note is not None:
            warnings.warn(note, stacklevel=2)

    @classmethod
    def _wrap(cls, engine: _engine.Simulation) -> Simulation:
        sim = cls.__new__(cls)
        sim._engine = engine
        sim._shared = {}
        return sim

    def __repr__(self) -> str:
        return f"<muslin.Simulation {self.name!r} at t = {self.time:.4g} s, frame {self.frame}>"

    # What it is.

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
        """Names of all cloths.

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

    # Going on.

    def step(self, steps: int = 1) -> None:
        """Goes on by time steps.

        Args:
            steps: How many.

        Example:
            >>> import muslin
            >>> sim = muslin.Simulation("hanging_cloth")
            >>> sim.step(2)
            >>> sim.steps
            2
        """
        for _ in range(count("steps", steps)):
            self._engine.step()

    def run(self, frames: int | None = None, progress: bool = True) -> None:
        """Goes on by frames, with a line of progress on stderr.

        Ctrl-C ends it after the step under way; the simulation is whole and can go on, and a recording is brought up to
        date.

        Args:
            frames: How many; by default as many as the scene still asks for.
            progress: Whether to show progress.

        Example:
            >>> import muslin
            >>> sim = muslin.Simulation("hanging_cloth")
            >>> sim.run(1, progress=False)
            >>> sim.frame
            1
        """
        if frames is None:
            end = self.frames
        else:
            end = self.frame + count("frames", frames)
        bar = _Progress(self, end) if progress else None
        try:
            while self._engine.progress()[2] < end:
                self._engine.step()
                if bar is not None:
                    bar.show()
        finally:
            if bar is not None:
                bar.close()
            self._engine.summarise()

    # Reading.

    def positions(self, name: str, out: Floats | None = None) -> Floats:
        """Positions of a cloth, or of the surface of an obstacle, m.

        Args:
            name: The cloth or obstacle.
            out: An array (N, 3) to write into instead of a new one; for cloth only.

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
        if out is None and name not in self.names and name in self.obstacles:
            return self._engine.surface(name)
        return self._engine.positions(name, None if out is None else output("out", out))

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
        width, height = (count("size", n, 16) for n in size)
        if max(width, height) > 8192:
            raise ValueError(f"size is {size}; at most 8192 pixels a side can be drawn")
        return Picture(*self._engine.picture([width, height], bool(contacts)))

    # Changing.

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
        if np.ndim(forces) == 1:
            one = floats("forces", forces, (3,))
            forces = np.broadcast_to(one, (len(self.masses(name)), 3))
        self._engine.set_forces(name, floats("forces", forces, (None, 3)))

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
        size = here.scale if scale is None else float(scale)
        self._engine.drive(
            obstacle, [float(c) for c in to], turned, size, None if duration is None else float(duration)
        )

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
        self._engine.lead(name, places, None if duration is None else float(duration))

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

    # Keeping.

    def clone(self) -> Simulation:
        """A simulation of its own in the same state; what happens to one is not seen by the other. It is not recorded.

        Example:
            >>> import muslin
            >>> sim = muslin.Simulation("hanging_cloth")
            >>> other = sim.clone()
            >>> sim.step(); other.step()
            >>> bool((sim.positions("sheet") == other.positions("sheet")).all())
            True
        """
        return self._wrap(self._engine.branch())

    def save(self, path: PathLike) -> None:
        """Writes scene, changes and state into one file (.npz).

        Files that the scene names are not in it; keep them.

        Example:
            >>> import muslin, tempfile, pathlib
            >>> file = pathlib.Path(tempfile.mkdtemp()) / "state.npz"
            >>> sim = muslin.Simulation("hanging_cloth")
            >>> sim.save(file)
            >>> sim.step()
            >>> sim.load(file)
            >>> sim.steps
            0
        """
        self._engine.save(os.fspath(path))

    def load(self, path: PathLike) -> None:
        """Takes over scene, changes and state of a file that :meth:`save` wrote.

        Example:
            >>> import muslin, tempfile, pathlib
            >>> file = pathlib.Path(tempfile.mkdtemp()) / "state.npz"
            >>> sim = muslin.Simulation("hanging_cloth")
            >>> sim.step(); sim.save(file); sim.step(); sim.load(file)
            >>> sim.steps
            1
        """
        self._engine.load(os.fspath(path))
        self._shared.clear()

    @classmethod
    def from_saved(cls, path: PathLike, *, threads: int = 1, watch_pins: bool = False) -> Simulation:
        """A new simulation from a file that :meth:`save` wrote.

        Example:
            >>> import muslin, tempfile, pathlib
            >>> file = pathlib.Path(tempfile.mkdtemp()) / "state.npz"
            >>> muslin.Simulation("hanging_cloth").save(file)
            >>> muslin.Simulation.from_saved(file).name
            'hanging_cloth'
        """
        engine = _engine.Simulation.from_saved(os.fspath(path), count("threads", threads))
        if watch_pins:
            engine.watch_pins()
        return cls._wrap(engine)

    def record(
        self, folder: PathLike | None = None, *, resume: bool = False, overwrite: bool = False
    ) -> None:
        """Records from now on into a run folder, the same as ``muslin run`` writes.

        Args:
            folder: The folder; by default ``out/<name of the scene>``. A finished run in it is replaced.
            resume: Whether to go on with the run in it; the simulation takes over its state.
            overwrite: Whether to replace an unfinished run.

        Example:
            >>> import muslin, tempfile, pathlib
            >>> folder = pathlib.Path(tempfile.mkdtemp()) / "run"
            >>> sim = muslin.Simulation("hanging_cloth")
            >>> sim.record(folder)
            >>> sim.run(1, progress=False)
            >>> sorted(file.name for file in (folder / "frames").iterdir())
            ['000000.npz', '000001.npz']
        """
        place = os.path.join("out", self.name) if folder is None else os.fspath(folder)
        self._engine.record(place, bool(resume), bool(overwrite))

    def finish(self) -> dict[str, Any]:
        """Ends the recording and says what it came to: what ``summary.json`` holds.

        Example:
            >>> import muslin, tempfile, pathlib
            >>> sim = muslin.Simulation("hanging_cloth")
            >>> sim.record(pathlib.Path(tempfile.mkdtemp()) / "run")
            >>> sim.step()
            >>> sim.finish()["steps"]
            1
        """
        summary = self._engine.summarise()
        if summary is None:
            raise RuntimeError("nothing is being recorded; begin with record()")
        self._engine.stop_recording()
        told: dict[str, Any] = json.loads(summary)
        return told


class _Progress:
    """A line on stderr that says how far a run is."""

    def __init__(self, sim: Simulation, end: int) -> None:
        self._engine, self._end = sim._engine, end
        self._name, self._first = sim.name, sim.frame
        self._begun = self._told = time.monotonic()
        self._width = 0

    def show(self, every: float = 0.2) -> None:
        now = time.monotonic()
        if now - self._told < every:
            return
        self._told = now
        frame = self._engine.progress()[2]
        done = frame - self._first
        left = (now - self._begun) / done * (self._end - frame) if done else float("nan")
        report = json.loads(self._engine.report() or "{}")
        contacts, residual = report.get("contacts", 0), report.get("residual", 0.0)
        line = f"{self._name}: frame {frame}/{self._end}, {contacts} contacts, residual {residual:.0e} m/s"
        if done:
            line += f", {left:.0f} s left"
        self._write(line)

    def _write(self, line: str) -> None:
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)

    def close(self) -> None:
        if self._width:
            self._write("")
            sys.stderr.write("\r")
