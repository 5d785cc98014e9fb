"""The simulation: made from a scene, stepped, branched, kept, recorded. Reading and changing it are in parts of their own."""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import _engine
from ._arrays import count
from ._steering import Steering
from .scene import Scene

__all__ = ["Simulation"]

PathLike = str | os.PathLike[str]


class Simulation(Steering):
    """Cloth in motion, in SI units.

    The same scene gives the same bits as ``muslin run``, whatever the number of threads. A simulation is used by one thread
    at a time; stepping releases the interpreter lock, so that others run meanwhile.

    Args:
        scene: A scene file, the name of a scene that comes with Muslin (see :func:`muslin.scenes`), a dict with the sections
            of a scene file, or a :class:`Scene`.
        set: Values to change by their dotted paths, as ``--set`` does.
        threads: Threads of this simulation; 0 for all cores.
        name: Name of the scene, for a dict or a :class:`Scene`; files have their own.
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
        elif name is not None:
            raise TypeError("name is for scenes that are dicts; a scene file has its own")
        else:
            made = _engine.Simulation.from_file(os.fspath(scene), changes, n)
        self._engine, note = made
        if watch_pins:
            self._engine.watch_pins()
        self._shared = {}
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

    def __copy__(self) -> Simulation:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Simulation:
        return self.clone()

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

        Not while it is recorded: a run folder holds one run from start to end.

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

    @property
    def recording(self) -> Path | None:
        """The run folder it is being recorded into, if it is.

        Example:
            >>> import muslin, tempfile, pathlib
            >>> sim = muslin.Simulation("hanging_cloth")
            >>> sim.recording is None
            True
            >>> sim.record(pathlib.Path(tempfile.mkdtemp()) / "run")
            >>> sim.recording.name
            'run'
        """
        folder = self._engine.recording()
        return None if folder is None else Path(folder)

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
