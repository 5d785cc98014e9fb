"""Two plates grasp a hanging strip of cloth, press, and lift it: a robot's gripper, driven step by step, and what it feels."""

from __future__ import annotations

import argparse
from pathlib import Path

import muslin
import numpy as np

THICKNESS = 1e-3  # of the cloth and of the pressed plate, m
BEGIN = 0.05  # height of the plates, m
PLATE = {
    "density": 2.7,
    "stretch": {"isotropic": {"modulus": 1e4, "poisson": 0.3}},
    "bend": {"rigidity": 0.1, "poisson": 0.3},
}


def strip_and_plates(friction: float) -> muslin.Simulation:
    scene = muslin.Scene(
        "grasp",
        output={"frame_rate": 50},
        solver={"time_step": 0.005},
        contact={"friction": friction},
        fabric={"plate": PLATE},
    )
    upright = {"axis": [1, 0, 0], "degrees": 90}
    scene.add_cloth(
        "strip", fabric="wool-woven", grid={"size": [0.08, 0.16], "cells": [4, 8]}, rotate=upright, thickness=THICKNESS
    )
    scene.add_pin("hook", cloth="strip", box={"min": [-1, -1, 0.0799], "max": [1, 1, 1]})
    # One plate is driven; the other one is a stiff sheet that is pressed against it with a force. Cloth is not compressible
    # here: two driven plates would close on it without a force that means anything.
    scene.add_obstacle("jaw", box={"size": [0.07, 0.02, 0.03]}, translate=[0, 0.015, BEGIN])
    scene.add_cloth(
        "finger",
        fabric="plate",
        grid={"size": [0.05, 0.02], "cells": [5, 2]},
        rotate=upright,
        translate=[0, -0.002, BEGIN],
        thickness=THICKNESS,
    )
    return muslin.Simulation(scene)


class Gripper:
    """A jaw and a finger that go up and down together; the finger is pressed with a force."""

    def __init__(self, sim: muslin.Simulation) -> None:
        self.sim, self.height = sim, BEGIN
        self.vertices = len(sim.masses("finger"))
        sim.pin("guide", "finger", range(self.vertices), axes="xz")
        sim.move("jaw", position=[0, 0.01 + THICKNESS / 2, BEGIN], duration=0.05)

    def press(self, force: float) -> None:
        """Presses the finger against the jaw from now on, N."""
        self.sim.set_forces("finger", [0, force / self.vertices, 0])

    def step(self, lifting: float = 0.0) -> None:
        """Goes on by a step, at a speed upward, m/s."""
        rise = lifting * self.sim.time_step
        if rise:
            self.height += rise
            self.sim.move("jaw", position=[0, 0.01 + THICKNESS / 2, self.height])
            self.sim.move_pin("guide", self.sim.positions("finger") + [0, 0, rise])
        self.sim.step()

    @property
    def grip(self) -> float:
        """Force on the jaw, N."""
        return float(self.sim.contact_force("jaw")[1])

    @property
    def load(self) -> float:
        """Weight that hangs on jaw and finger, N."""
        return float(-self.sim.contact_force("jaw")[2] - self.sim.contact_force("finger")[2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for results")
    parser.add_argument("--friction", type=float, default=0.6)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    sim = strip_and_plates(options.friction)
    gripper = Gripper(sim)
    sim.show(contacts=True).save(options.out / "grasp_before.png")
    print(f"weight {sim.masses('strip').sum() * 9.81:.4f} N")
    print("time (s)  height (m)  grip (N)  load (N)  strip (m)")

    def tell() -> None:
        middle = sim.positions("strip")[:, 2].mean()
        print(f"{sim.time:8.3f}  {gripper.height:10.4f}  {gripper.grip:8.4f}  {gripper.load:8.4f}  {middle:9.4f}")

    def go(steps: int, **velocities: float) -> None:
        for i in range(steps):
            gripper.step(**velocities)
            if (i + 1) % 10 == 0:
                tell()

    gripper.press(0.4)
    go(30)
    sim.release("hook")
    go(10)
    go(40, lifting=0.25)
    go(40)  # hold still
    sim.show(contacts=True).save(options.out / "grasp_after.png")
    np.savetxt(options.out / "grasp_contacts.csv", sim.contacts().impulse / sim.time_step, delimiter=",")


if __name__ == "__main__":
    main()
