"""What a simulation hands out: reports, contacts, places, pictures."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import Floats, Ints

__all__ = ["Contacts", "Picture", "Pose", "StepReport"]


@dataclass(frozen=True)
class StepReport:
    """What a step reached: the numbers of a line of ``steps.jsonl``.

    Example:
        >>> import muslin
        >>> sim = muslin.Simulation("hanging_cloth")
        >>> sim.step()
        >>> sim.stats.step, sim.stats.converged
        (1, True)
    """

    step: int
    """Number of the step, from 1."""
    time: float
    """Time at its end, s."""
    vertices: int
    """Vertices in the world."""
    contacts: int
    """Contacts the solver saw."""
    sticking: int
    """Contacts that stick."""
    sliding: int
    """Contacts that slide."""
    iterations: int
    """Iterations of the stepper."""
    residual: float
    """Largest error left, m/s."""
    converged: bool
    """Whether the residual is within the tolerance."""
    intersections: int | None
    """Crossing pairs of triangles at the end; None for steps that do not complete a frame."""
    failsafe: bool
    """Whether the fail-safe acted."""
    measures: dict[str, float]
    """Measures of the scene."""
    seconds: dict[str, float]
    """Wall-clock seconds: `total` and one entry a phase."""
    raw: dict[str, Any] = field(repr=False)
    """Everything the report says, as in ``steps.jsonl``."""

    @classmethod
    def _of(cls, raw: dict[str, Any]) -> StepReport:
        known = [name for name in cls.__dataclass_fields__ if name != "raw"]
        return cls(**{name: raw[name] for name in known}, raw=raw)


@dataclass(frozen=True)
class Contacts:
    """Contacts of the last step, one row each.

    Example:
        >>> import muslin
        >>> sim = muslin.Simulation("incline")
        >>> sim.step(3)
        >>> contacts = sim.contacts()
        >>> contacts.position.shape == contacts.impulse.shape == (len(contacts), 3)
        True
    """

    position: Floats
    """(N, 3) where they are, on the surface of the second party at the start of the step, m."""
    normal: Floats
    """(N, 3) unit vectors from the second party to the first."""
    impulse: Floats
    """(N, 3) impulse on the first party, N s; the second gets the opposite."""
    state: npt.NDArray[np.uint8]
    """(N,) 0 came apart, 1 sticks, 2 slides."""
    parties: Ints
    """(N, 2) who touches whom: cloth counts 0, 1, 2 …, obstacles -1, -2, -3 …, both in the order of their names."""
    cloths: tuple[str, ...]
    """Names of cloths."""
    obstacles: tuple[str, ...]
    """Names of obstacles."""

    def __len__(self) -> int:
        return len(self.state)

    def of(self, name: str) -> npt.NDArray[np.bool_]:
        """Which contacts a cloth or obstacle takes part in.

        Example:
            >>> import muslin
            >>> sim = muslin.Simulation("incline")
            >>> sim.step(3)
            >>> contacts = sim.contacts()
            >>> bool(contacts.of(contacts.obstacles[0]).all())
            True
        """
        if name in self.cloths:
            code = self.cloths.index(name)
        elif name in self.obstacles:
            code = -1 - self.obstacles.index(name)
        else:
            raise KeyError(f"there is no cloth or obstacle `{name}`")
        found: npt.NDArray[np.bool_] = (self.parties == code).any(axis=1)
        return found


@dataclass(frozen=True)
class Pose:
    """Where an obstacle is: its own frame scaled, then turned, then moved.

    Example:
        >>> import muslin
        >>> scene = muslin.Scene()
        >>> scene.add_cloth("towel", fabric="paper", grid={"size": [0.2, 0.2], "cells": [2, 2]})
        >>> scene.add_obstacle("ball", sphere={"radius": 0.1}, translate=[0, 0, -0.5])
        >>> muslin.Simulation(scene).pose("ball").position
        array([ 0. ,  0. , -0.5])
    """

    position: Floats
    """(3,) where its origin is, m."""
    rotation: Floats
    """(4,) unit quaternion (x, y, z, w), as ``scipy.spatial.transform.Rotation.as_quat`` gives it."""
    scale: float = 1.0
    """Size factor."""


@dataclass(frozen=True)
class Picture:
    """A picture of a state, shown inline by notebooks.

    Example:
        >>> import muslin
        >>> picture = muslin.Simulation("hanging_cloth").show(size=(64, 48))
        >>> picture.pixels.shape
        (48, 64, 3)
    """

    png: bytes = field(repr=False)
    """The picture as a PNG file."""
    pixels: npt.NDArray[np.uint8] = field(repr=False)
    """(height, width, 3) red, green, blue."""

    def _repr_png_(self) -> bytes:
        return self.png

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the PNG file.

        Example:
            >>> import muslin, tempfile, pathlib
            >>> file = pathlib.Path(tempfile.mkdtemp()) / "cloth.png"
            >>> muslin.Simulation("hanging_cloth").show(size=(64, 48)).save(file)
            >>> file.read_bytes()[1:4]
            b'PNG'
        """
        Path(path).write_bytes(self.png)
