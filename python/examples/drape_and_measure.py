"""Drapes a square of cloth over a round table, records the run, and measures how it hangs."""

from __future__ import annotations

import argparse
from pathlib import Path

import muslin
import numpy as np

RADIUS = 0.15  # of the table, m


def table_cloth(fabric: str) -> muslin.Scene:
    scene = muslin.Scene("drape", output={"frames": 60, "frame_rate": 30}, solver={"time_step": 1 / 60}, wind={})
    scene.add_cloth(
        "cloth", fabric=fabric, grid={"size": [0.5, 0.5], "cells": [16, 16]}, translate=[0, 0, 0.002]
    )
    scene.add_obstacle(
        "table", cylinder={"radius": RADIUS, "length": 0.02}, translate=[0, 0, -0.01], friction=0.5
    )
    scene.add_measure("lowest point", "height", of="cloth")
    scene.add_measure("largest stretch", "largest_stretch")
    return scene


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for results")
    parser.add_argument("--fabric", default="gray-interlock", help="one of muslin.fabrics()")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    sim = muslin.Simulation(table_cloth(options.fabric))
    sim.record(options.out / "drape", overwrite=True)
    sim.run()
    summary = sim.finish()

    x = sim.positions("cloth")
    outside = np.linalg.norm(x[:, :2], axis=1) > RADIUS
    contacts = sim.contacts()
    print(f"{options.fabric}, {sim.time:.1f} s, {summary['steps']} steps, {summary['unconverged_steps']} not converged")
    print(f"the cloth hangs down by {-x[:, 2].min():.4f} m")
    print(f"share of the cloth that hangs: {sim.masses('cloth')[outside].sum() / sim.masses('cloth').sum():.3f}")
    print(f"contacts: {len(contacts)}, of which {np.sum(contacts.state == 1)} stick")
    print(f"the table carries {-sim.contact_force('table')[2]:.4f} N of {sim.masses('cloth').sum() * 9.81:.4f} N")
    for name, value in sim.measures.items():
        print(f"{name}: {value:.4g}")
    sim.show(size=(800, 600)).save(options.out / "drape.png")
    print(f"look at it with: muslin view {options.out / 'drape'}")


if __name__ == "__main__":
    main()
