"""Two plates grasp a hanging strip of cloth, press, and lift it: a robot's gripper, driven step by step, and what it feels."""

from __future__ import annotations

import argparse
from pathlib import Path

import muslin
import numpy as np

THICKNESS = 2e-3  # of the cloth, m
PLATE = 0.01  # thickness of a plate, m
HOOK = 0.12  # height at which the strip hangs, m


def strip_and_plates(friction: float) -> muslin.Simulation:
    scene = muslin.Scene("grasp", output={"frame_rate": 50}, solver={"time_step": 0.005})
    scene.add_cloth(
        "strip",
        fabric="wool-woven",
        grid={"size": [0.08, 0.2], "cells": [6, 15]},
        rotate={"axis": [1, 0, 0], "degrees": 90},
        translate=[0, 0, HOOK - 0.1],
        thickness=THICKNESS,
    )
    scene.add_pin("hook", cloth="strip", box={"min": [-1, -1, HOOK - 1e-4], "max": [1, 1, 1]})
    for name, side in (("left", -1), ("right", 1)):
        scene.add_obstacle(
            name, box={"size": [0.1, PLATE, 0.03]}, translate=[0, side * 0.02, 0.07], friction=friction
        )
    return muslin.Simulation(scene)


class Gripper:
    """Opening and height of the two plates, and the forces on them."""

    def __init__(self, sim: muslin.Simulation) -> None:
        self.sim, self.gap, self.height = sim, 0.04 - PLATE, 0.07

    def step(self, closing: float = 0.0, lifting: float = 0.0) -> None:
        """Goes on by a step with velocities of the gap and of the height, m/s."""
        self.gap -= closing * self.sim.time_step
        self.height += lifting * self.sim.time_step
        for name, side in (("left", -1), ("right", 1)):
            self.sim.move(name, position=[0, side * (self.gap + PLATE) / 2, self.height])
        self.sim.step()

    @property
    def grip(self) -> float:
        """Force with which the plates are pressed apart, N."""
        return float(self.sim.contact_force("right")[1] - self.sim.contact_force("left")[1]) / 2

    @property
    def load(self) -> float:
        """Weight that hangs on the plates, N."""
        return float(-self.sim.contact_force("left")[2] - self.sim.contact_force("right")[2])


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

    while gripper.grip < 0.5 and sim.time < 2:  # close until it feels half a newton
        gripper.step(closing=0.1 if gripper.gap > 1.1 * THICKNESS else 0.004)
    tell()
    sim.release("hook")
    go(10)
    go(40, lifting=0.25)
    go(40)  # hold still
    sim.show(contacts=True).save(options.out / "grasp_after.png")
    np.savetxt(options.out / "grasp_contacts.csv", sim.contacts().impulse / sim.time_step, delimiter=",")


if __name__ == "__main__":
    main()
