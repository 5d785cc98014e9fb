"""What can be changed between steps, and what a robot's gripper feels."""

from __future__ import annotations

from typing import Any

import muslin
import numpy as np
import pytest

G = 9.81


def weight(sim: muslin.Simulation, name: str) -> float:
    return float(sim.masses(name).sum()) * G


class Gripper:
    """A strip of cloth between a jaw that is driven and a stiff plate that is pressed against it: what a gripper with a
    controlled force does."""

    def __init__(self, friction: float) -> None:
        scene = muslin.Scene(
            "gripper", solver={"time_step": 0.005}, output={"frame_rate": 50}, contact={"friction": friction}
        )
        upright = {"axis": [1, 0, 0], "degrees": 90}
        scene.add_cloth(
            "strip", fabric="wool-woven", grid={"size": [0.06, 0.12], "cells": [4, 8]}, rotate=upright, thickness=1e-3
        )
        scene.add_cloth(
            "plate",
            fabric="plate",
            grid={"size": [0.05, 0.02], "cells": [5, 2]},
            rotate=upright,
            translate=[0, -0.0012, 0.03],
            thickness=1e-3,
        )
        scene.add_pin("hook", cloth="strip", box={"min": [-1, -1, 0.059], "max": [1, 1, 1]})
        scene.add_obstacle("jaw", box={"size": [0.07, 0.02, 0.03]}, translate=[0, 0.013, 0.03])
        table = scene.to_dict()
        table["fabric"] = {
            "plate": {
                "density": 2.7,
                "stretch": {"isotropic": {"modulus": 1e4, "poisson": 0.3}},
                "bend": {"rigidity": 0.1, "poisson": 0.3},
            }
        }
        self.sim = muslin.Simulation(table)
        self.sim.pin("guide", "plate", range(18), axes="xz")
        self.height = 0.03

    def press(self, force: float) -> None:
        self.sim.set_forces("plate", [0, force / 18, 0])

    def step(self, steps: int = 1, lifting: float = 0.0) -> None:
        sim = self.sim
        for _ in range(steps):
            rise = lifting * sim.time_step
            self.height += rise
            sim.move("jaw", position=[0, 0.0105, self.height])
            sim.move_pin("guide", sim.positions("plate") + [0, 0, rise])
            sim.step()

    @property
    def load(self) -> float:
        """Weight that hangs on both plates, N."""
        return -float(self.sim.contact_force("jaw")[2] + self.sim.contact_force("plate")[2])


def test_a_gripper_holds_by_friction_and_feels_the_weight() -> None:
    gripper = Gripper(0.6)
    sim = gripper.sim
    gripper.press(0.3)
    gripper.step(20)
    assert sim.contact_force("jaw")[1] == pytest.approx(0.3, rel=0.02)
    sim.release("hook")
    gripper.step(40, lifting=0.2)
    gripper.step(60)
    # Lifted by 4 cm, and hanging on the plates with all its weight.
    assert sim.positions("strip")[:, 2].max() == pytest.approx(0.1, abs=2e-3)
    assert gripper.load == pytest.approx(weight(sim, "strip"), rel=0.05)
    assert sim.contact_force("strip")[2] == pytest.approx(gripper.load, rel=1e-9)
    assert sim.crossings() == []
    # Let go: it falls.
    gripper.press(-0.3)
    gripper.step(30)
    assert sim.positions("strip")[:, 2].max() < 0.06


def test_without_friction_it_slips_out() -> None:
    gripper = Gripper(0.0)
    gripper.press(0.3)
    gripper.step(20)
    gripper.sim.release("hook")
    gripper.step(40)
    assert gripper.sim.positions("strip")[:, 2].max() < -0.05


def test_a_driven_surface_carries_cloth_by_friction(drape: dict[str, Any]) -> None:
    del drape["obstacle"]["ball"]
    drape["cloth"]["sheet"]["translate"] = [0, 0, -0.0995]
    drape["obstacle"]["floor"]["friction"] = 5.0
    sim = muslin.Simulation(drape)
    sim.step(10)
    start = sim.positions("sheet").mean(axis=0)
    for i in range(20):
        sim.move("floor", position=[0.001 * (i + 1), 0, 0])
        sim.step()
    moved = sim.positions("sheet").mean(axis=0) - start
    assert moved[0] == pytest.approx(0.02, rel=1e-3)
    # A jump is not felt.
    sim.move("floor", position=[5, 0, 0], duration=0)
    before = sim.positions("sheet").mean(axis=0)
    sim.step(3)
    assert abs(sim.positions("sheet").mean(axis=0) - before).max() < 1e-3
    assert sim.pose("floor").position[0] == 5


def test_poses_take_quaternions_and_matrices(drape: dict[str, Any]) -> None:
    from scipy.spatial.transform import Rotation

    sim = muslin.Simulation(drape)
    for seed in range(5):
        turn = Rotation.random(random_state=seed)
        for given in (turn.as_quat(), turn.as_matrix()):
            sim.move("ball", rotation=given, duration=0)
            found = Rotation.from_quat(sim.pose("ball").rotation)
            assert (found * turn.inv()).magnitude() < 1e-12
    sim.move("ball", position=[0, 0, -0.02], scale=0.5, duration=2 * sim.time_step)
    sim.step()
    assert sim.pose("ball").scale == pytest.approx(0.75)
    assert sim.pose("ball").position[2] == pytest.approx(-0.01)
    sim.step(5)
    assert sim.pose("ball").scale == 0.5
    assert np.linalg.norm(sim.positions("ball"), axis=1).max() < 0.075


def test_pins_are_set_led_and_released(swinging: dict[str, Any]) -> None:
    sim = muslin.Simulation(swinging)
    sim.pin("hand", "sheet", [24, 20])
    assert sim.pins == ["left", "right", "hand"]
    assert sim.pin_vertices("hand").tolist() == [20, 24]
    goal = sim.positions("sheet")[[20, 24]] + [0, 0, 0.03]
    sim.move_pin("hand", goal, duration=4 * sim.time_step)
    sim.step(2)
    halfway = sim.positions("sheet")[[20, 24]]
    assert halfway == pytest.approx(goal - [0, 0, 0.015], abs=1e-9)
    sim.step(6)
    assert (sim.positions("sheet")[[20, 24]] == goal).all()
    for name in ("left", "right", "hand"):
        sim.release(name)
    sim.step(20)
    assert sim.positions("sheet")[:, 2].max() < 0.0
    # A pin may hold some axes only.
    sim.pin("rail", "sheet", [0], axes="z")
    height = sim.positions("sheet")[0, 2]
    sim.step(5)
    assert sim.positions("sheet")[0, 2] == pytest.approx(height, abs=1e-12)


@pytest.mark.parametrize("scheme", ["newton", "linearised"])
def test_pins_give_the_momentum_that_gravity_does_not(swinging: dict[str, Any], scheme: str) -> None:
    swinging["cloth"]["sheet"]["fabric"] = "wool-woven"
    sim = muslin.Simulation(swinging, set={"solver.implicit.scheme": scheme}, watch_pins=True)
    masses = sim.masses("sheet")[:, None]
    impulse = np.zeros(3)
    for _ in range(40):
        sim.step()
        held = sim.pin_forces("left").sum(axis=0) + sim.pin_forces("right").sum(axis=0)
        impulse += (held - [0, 0, weight(sim, "sheet")]) * sim.time_step
    momentum = (masses * sim.velocities("sheet")).sum(axis=0)
    assert momentum == pytest.approx(impulse, abs=1e-6 * weight(sim, "sheet") * sim.time)


def test_forces_act_as_they_should(drape: dict[str, Any]) -> None:
    drape["obstacle"] = {}
    drape["gravity"] = [0, 0, 0]
    sim = muslin.Simulation(drape)
    masses = sim.masses("sheet")
    sim.set_forces("sheet", masses[:, None] * [1.0, 2.0, 0.0])  # an even field, 1 and 2 m/s²
    sim.step(10)
    assert sim.velocities("sheet").mean(axis=0) == pytest.approx([0.1, 0.2, 0.0], abs=1e-9)
    assert sim.forces("sheet").sum(axis=0) == pytest.approx([masses.sum(), 2 * masses.sum(), 0])
    sim.set_forces("sheet", [0, 0, 0])
    kept = sim.velocities("sheet").mean(axis=0)
    sim.step(5)
    assert sim.velocities("sheet").mean(axis=0) == pytest.approx(kept, abs=1e-9)


def test_state_can_be_set(drape: dict[str, Any]) -> None:
    drape["obstacle"] = {}
    sim = muslin.Simulation(drape)
    x = sim.positions("sheet")
    sim.set_positions("sheet", x + [0, 0, 2])
    sim.set_velocities("sheet", np.tile([3.0, 0, 0], (len(x), 1)))
    sim.step()
    dt = sim.time_step
    assert sim.positions("sheet") - x == pytest.approx(
        np.tile([3 * dt, 0, 2 - G * dt**2], (len(x), 1)), abs=1e-9
    )


def test_set_changes_what_happens_next_and_nothing_else(drape: dict[str, Any]) -> None:
    sim = muslin.Simulation(drape)
    sim.step(3)
    x, t = sim.positions("sheet"), sim.time
    sim.set("gravity", [0, 0, 0])
    assert (sim.positions("sheet") == x).all() and sim.time == t and sim.steps == 3
    v = sim.velocities("sheet").mean(axis=0)
    sim.step()
    assert sim.velocities("sheet").mean(axis=0) == pytest.approx(v, abs=0.05)
    sim.set("cloth.sheet.fabric", "paper")
    assert sim.scene["cloth"]["sheet"]["fabric"] == "paper"
    # Refused, and nothing is changed.
    with pytest.raises(muslin.SceneError, match="other vertices"):
        sim.set("cloth.sheet.grid.cells", [3, 3])
    with pytest.raises(muslin.SceneError, match="frame rate"):
        sim.set("output.frame_rate", 100)
    sim.step()
    with pytest.raises(muslin.SceneError, match="time step"):
        sim.set("solver.time_step", 0.002)
    assert sim.steps == 5 and len(sim.positions("sheet")) == len(x)
    sim.step()
    now = sim.time
    sim.set("solver.time_step", 0.002)
    assert sim.time == pytest.approx(now) and sim.time_step == pytest.approx(0.002)
    sim.step()
    assert sim.time == pytest.approx(now + 0.002)


def test_set_keeps_what_was_driven(drape: dict[str, Any]) -> None:
    sim = muslin.Simulation(drape)
    sim.pin("hand", "sheet", [0])
    sim.move("ball", position=[0, 0, -0.01], duration=0)
    sim.set_forces("sheet", [0, 1e-5, 0])
    sim.set("obstacle.ball.friction", 0.7)
    assert sim.pins == ["hand"] and sim.pose("ball").position[2] == -0.01
    assert sim.forces("sheet")[0, 1] == 1e-5


def test_what_does_not_fit_is_refused(drape: dict[str, Any], swinging: dict[str, Any]) -> None:
    sim = muslin.Simulation(drape)
    held = muslin.Simulation(swinging)
    for call in (
        lambda: sim.positions("shet"),
        lambda: sim.pose("bal"),
        lambda: sim.move("bal", position=[0, 0, 0]),
        lambda: sim.release("hand"),
        lambda: sim.pin_forces("hand"),
        lambda: sim.set_forces("shet", [0, 0, 0]),
        lambda: sim.contact_force("nobody"),
        lambda: sim.faces("nobody"),
        lambda: sim.pin("hand", "shet", [0]),
    ):
        with pytest.raises(KeyError, match="there is no"):
            call()
    with pytest.raises(ValueError, match="already"):
        held.pin("left", "sheet", [7])
    with pytest.raises(ValueError, match="holds vertex 0"):
        held.pin("hand", "sheet", [0])
    with pytest.raises(ValueError, match="not one of them"):
        held.pin("hand", "sheet", [25])
    with pytest.raises(ValueError, match="nothing"):
        held.pin("hand", "sheet", [])
    with pytest.raises(ValueError, match="axes"):
        held.pin("hand", "sheet", [3], axes="w")
    with pytest.raises(ValueError, match="duration"):
        held.move_pin("left", [[0, 0, 0]], duration=-1)
    with pytest.raises(ValueError, match="rows"):
        held.move_pin("left", [[0, 0, 0], [1, 0, 0]])
    with pytest.raises(ValueError, match="rotation"):
        sim.move("ball", rotation=[0, 0, 0, 0])
    with pytest.raises(ValueError, match="rotation"):
        sim.move("ball", rotation=[[1, 0, 0], [0, 2, 0], [0, 0, 1]])
    with pytest.raises(ValueError, match="rotation"):
        sim.move("ball", rotation=[1, 2, 3])
    with pytest.raises(ValueError, match="scale"):
        sim.move("ball", scale=0.0)
    with pytest.raises(RuntimeError, match="watch_pins"):
        held.pin_forces("left")
    with pytest.raises(RuntimeError, match="no step yet"):
        sim.stats
