"""How far does a sheet slide down a slope, for which coefficient of friction? Compares with Coulomb's law and plots it."""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import muslin
import numpy as np

SLOPE = 20.0  # degrees
SECONDS = 0.3
G = 9.81


def sheet_on_a_slope(friction: float) -> muslin.Simulation:
    turn = {"axis": [0, 1, 0], "degrees": SLOPE}
    up = np.array([np.sin(np.radians(SLOPE)), 0, np.cos(np.radians(SLOPE))])
    scene = muslin.Scene("slope", output={"frames": 30, "frame_rate": 100}, solver={"time_step": 0.0025})
    scene.add_cloth(
        "sheet",
        fabric="paper",
        grid={"size": [0.2, 0.2], "cells": [3, 3]},
        rotate=turn,
        # Sheets keep half their thickness from obstacles; this one lies on the slope from the start.
        translate=up * 0.5e-3,
        thickness=1e-3,
    )
    scene.add_obstacle("slope", plane={"normal": up}, friction=friction)
    downhill = [np.cos(np.radians(SLOPE)), 0, -np.sin(np.radians(SLOPE))]
    scene.add_measure("slid", "displacement", direction=downhill)
    return muslin.Simulation(scene)


def expected(friction: float) -> float:
    """Distance (m) that Coulomb's law gives."""
    angle = np.radians(SLOPE)
    return float(0.5 * G * max(np.sin(angle) - friction * np.cos(angle), 0.0) * SECONDS**2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for results")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    frictions = np.linspace(0.0, 0.6, 13)
    sims = [sheet_on_a_slope(mu) for mu in frictions]
    muslin.run_many(sims)
    slid = [sim.measures["slid"] for sim in sims]
    law = [expected(mu) for mu in frictions]

    print(f"slope of {SLOPE} degrees: it should hold from {np.tan(np.radians(SLOPE)):.4f} on")
    print("coefficient  slid (m)  Coulomb (m)")
    for mu, found, known in zip(frictions, slid, law):
        print(f"{mu:11.3f}  {round(found, 5) + 0.0:8.5f}  {known:11.5f}")

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    fine = np.linspace(0, 0.6, 200)
    axes.plot(fine, [expected(mu) for mu in fine], color="0.6", label="Coulomb's law")
    axes.plot(frictions, slid, "o", color="tab:blue", label="Muslin")
    axes.axvline(np.tan(np.radians(SLOPE)), color="0.8", linestyle=":")
    axes.set(xlabel="coefficient of friction", ylabel=f"slid in {SECONDS} s (m)")
    axes.legend()
    figure.savefig(options.out / "friction_sweep.png", dpi=120)
    print(f"plotted in {options.out / 'friction_sweep.png'}")


if __name__ == "__main__":
    main()
