"""Soft bodies, and the other methods, driven from Python."""

from __future__ import annotations

from typing import Any

import muslin
import numpy as np
import pytest

METHODS = ["implicit", "admm", "impulse"]
G = 9.81


def block(**sections: Any) -> muslin.Scene:
    scene = muslin.Scene("block", output={"frame_rate": 50}, solver={"time_step": 0.01}, **sections)
    size = {"size": [0.1, 0.1, 0.1], "cells": [2, 2, 2]}
    scene.add_soft("block", box=size, material="gelatin", translate=[0, 0, 0.0505])
    scene.add_obstacle("floor", plane={}, friction=0.5)
    return scene


def test_a_soft_body_is_read_like_cloth() -> None:
    sim = muslin.Simulation(block())
    assert sim.names == ["block"]
    x, tetrahedra, faces = sim.positions("block"), sim.tetrahedra("block"), sim.faces("block")
    assert x.shape == (27, 3) and tetrahedra.shape == (48, 4) and faces.shape == (48, 3)
    edges = x[tetrahedra[:, 1:]] - x[tetrahedra[:, :1]]
    volumes = np.linalg.det(edges) / 6
    assert (volumes > 0).all() and volumes.sum() == pytest.approx(1e-3)
    assert sim.masses("block").sum() == pytest.approx(1040 * 1e-3)
    assert not tetrahedra.flags.writeable
    drape = muslin.Simulation("hanging_cloth")
    assert drape.tetrahedra("sheet").shape == (0, 4)


@pytest.mark.parametrize("method", ["implicit", "admm"])
def test_a_soft_body_rests_on_the_floor_and_is_lifted(method: str) -> None:
    sim = muslin.Simulation(block(), set={"solver.method": method}, watch_pins=True)
    weight = float(sim.masses("block").sum()) * G
    sim.run(25, progress=False)
    assert -sim.contact_force("floor")[2] == pytest.approx(weight, rel=0.03)
    assert sim.contacts().of("block").all()
    top = np.flatnonzero(sim.positions("block")[:, 2] > 0.09)
    sim.pin("hand", "block", top)
    held = sim.positions("block")[sim.pin_vertices("hand")]
    sim.move_pin("hand", held + [0, 0, 0.03], duration=0.2)
    sim.run(40, progress=False)
    assert len(sim.contacts()) == 0
    assert sim.pin_forces("hand")[:, 2].sum() == pytest.approx(weight, rel=0.03)
    other = sim.clone()
    for one in (sim, other):
        one.set_forces("block", [0, 1e-3, 0])
        one.step(3)
    assert (sim.positions("block") == other.positions("block")).all()


def test_a_soft_body_is_pinned_by_the_scene() -> None:
    scene = block()
    scene.add_pin("hand", soft="block", box={"min": [-1, -1, 0.09], "max": [1, 1, 1]})
    sim = muslin.Simulation(scene)
    assert len(sim.pin_vertices("hand")) == 9
    sim.run(2, progress=False)
    assert sim.positions("block")[sim.pin_vertices("hand"), 2] == pytest.approx(0.1005)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_driven_and_branched(drape: dict[str, Any], method: str) -> None:
    drape["cloth"]["sheet"]["fabric"] = "gray-interlock"
    sim = muslin.Simulation(drape, set={"solver.method": method})
    sim.run(2, progress=False)
    sim.pin("hand", "sheet", [0], axes="xz")
    sim.move_pin("hand", sim.positions("sheet")[[0]] + [0, 0, 0.01], duration=0.04)
    sim.move("ball", position=[0, 0, 0.002], duration=0.02)
    sim.set_forces("sheet", [1e-5, 0, 0])
    branch = sim.clone()
    for one in (sim, branch):
        one.step(5)
    assert (sim.positions("sheet") == branch.positions("sheet")).all()
    assert sim.pose("ball").position[2] == 0.002
    # The ball holds it, whether or not the method tells of its contacts.
    assert sim.crossings() == [] and sim.positions("sheet")[:, 2].max() > 0.1
