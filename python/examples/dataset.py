"""A dataset of 20 randomised drapes for learning: fabric, friction, size of the ball and turn of the cloth vary."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import muslin
import numpy as np

FABRICS = ["wool-woven", "paper", "gray-interlock", "white-dots-on-blk"]


def random_drape(rng: np.random.Generator) -> tuple[muslin.Simulation, dict[str, Any]]:
    chosen: dict[str, Any] = {
        "fabric": FABRICS[rng.integers(len(FABRICS))],
        "friction": rng.uniform(0.1, 0.8),
        "radius": rng.uniform(0.06, 0.1),
        "turn": rng.uniform(0, 90),
    }
    scene = muslin.Scene("drape", output={"frames": 16, "frame_rate": 40}, solver={"time_step": 1 / 40})
    scene.add_cloth(
        "cloth",
        fabric=chosen["fabric"],
        grid={"size": [0.3, 0.3], "cells": [8, 8]},
        rotate={"axis": [0, 0, 1], "degrees": chosen["turn"]},
        translate=[0, 0, chosen["radius"] + 0.003],
    )
    scene.add_obstacle("ball", sphere={"radius": chosen["radius"]}, friction=chosen["friction"])
    scene.add_obstacle("floor", plane={"point": [0, 0, -0.1]}, friction=chosen["friction"])
    return muslin.Simulation(scene), chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for results")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    rng = np.random.default_rng(options.seed)
    drapes = [random_drape(rng) for _ in range(options.count)]
    sims = [sim for sim, _ in drapes]
    muslin.run_many(sims)

    positions = np.stack([sim.positions("cloth") for sim in sims])
    crossing = sum(bool(sim.crossings()) for sim in sims)
    file = options.out / "drapes.npz"
    arrays: dict[str, Any] = {key: np.array([chosen[key] for _, chosen in drapes]) for key in drapes[0][1]}
    arrays["positions"] = positions.astype(np.float32)
    arrays["velocities"] = np.stack([sim.velocities("cloth") for sim in sims]).astype(np.float32)
    arrays["faces"] = sims[0].faces("cloth")
    arrays["height"] = positions[:, :, 2].min(axis=1)
    np.savez_compressed(file, **arrays)
    print(f"{len(sims)} drapes of {positions.shape[1]} vertices in {file}, {crossing} of them with crossings")
    for (sim, chosen), x in zip(drapes[:5], positions):
        print(
            f"  {chosen['fabric']:18} friction {chosen['friction']:.2f}, ball {chosen['radius']:.3f} m: "
            f"lowest point {x[:, 2].min():.4f} m, {sim.stats.contacts} contacts"
        )
    sims[0].show().save(options.out / "first.png")


if __name__ == "__main__":
    main()
