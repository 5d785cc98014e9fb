"""What the package costs: reading a state, making a simulation, many simulations at once, collision queries. Prints a table."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import muslin
import numpy as np

ROOT = Path(__file__).resolve().parents[2]


def seconds(work: Callable[[], Any], repeat: int = 1) -> float:
    """Shortest of several wall-clock times, s."""
    times = []
    for _ in range(repeat):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def reading() -> None:
    scene = muslin.Scene("sheet", solver={"time_step": 0.005})
    scene.add_cloth("sheet", fabric="wool-woven", grid={"size": [1, 1], "cells": [141, 141]})
    scene.add_pin("corner", cloth="sheet", vertices=[0])
    sim = muslin.Simulation(scene, threads=1)
    sim.step(2)
    step = seconds(sim.step, 5)
    out = sim.positions("sheet")
    fresh = seconds(lambda: sim.positions("sheet"), 50)
    into = seconds(lambda: sim.positions("sheet", out=out), 50)
    print(f"sheet of {len(out)} vertices: a step {step * 1e3:.1f} ms, positions {fresh * 1e3:.3f} ms", end=" ")
    print(f"({fresh / step:.3%} of the step), into an array of one's own {into * 1e3:.3f} ms ({into / step:.3%})")


def making() -> None:
    scene = muslin.Scene("sheet")
    scene.add_cloth("sheet", fabric="wool-woven", grid={"size": [1, 1], "cells": [99, 99]})
    made = muslin.Simulation(scene)
    same = muslin.Scene("sheet")
    same.add_cloth("sheet", made.positions("sheet"), made.faces("sheet"), fabric="wool-woven")
    grid, arrays = (seconds(lambda: muslin.Simulation(s), 3) for s in (scene, same))
    clone = seconds(made.clone, 3)
    print(f"a simulation of {len(made.masses('sheet'))} vertices is made in {grid:.2f} s,", end=" ")
    print(f"from arrays in {arrays:.2f} s, cloned in {clone:.2f} s")


def many() -> None:
    def make() -> list[muslin.Simulation]:
        scene = muslin.Scene("small", output={"frames": 30, "frame_rate": 50}, solver={"time_step": 0.01})
        scene.add_cloth(
            "sheet", fabric="wool-woven", grid={"size": [0.3, 0.3], "cells": [12, 12]}, translate=[0, 0, 0.102]
        )
        scene.add_obstacle("ball", sphere={"radius": 0.1}, friction=0.3)
        return [muslin.Simulation(scene, set={"obstacle.ball.friction": 0.1 + 0.03 * i}) for i in range(16)]

    def one_after_another() -> None:
        for sim in alone:
            sim.run(progress=False)

    alone, together = make(), make()
    one = seconds(one_after_another)
    two = seconds(lambda: muslin.run_many(together, threads=2))
    same = all((a.positions("sheet") == b.positions("sheet")).all() for a, b in zip(alone, together))
    print(f"16 small simulations: {one:.2f} s one after another, {two:.2f} s on two threads", end=" ")
    print(f"({one / two:.2f} times faster, {'the same bits' if same else 'OTHER BITS'})")


def queries() -> None:
    with open(ROOT / "reference" / "ccd_queries.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for kind, detect in (("vf", muslin.ccd.vertex_face), ("ee", muslin.ccd.edge_edge)):
        x0, x1 = (
            np.array([[[float(r[f"p{k}{end}{a}"]) for a in "xyz"] for k in range(4)] for r in rows if r["kind"] == kind])
            for end in (0, 1)
        )
        # The reference queries are chosen to be hard; the others are what a step of cloth asks.
        many = 1_000_000 // len(x0)
        hard = np.tile(x0, (many, 1, 1)), np.tile(x1, (many, 1, 1))
        rng = np.random.default_rng(1)
        start = rng.normal(size=(1_000_000, 4, 3))
        easy = start, start + 0.1 * rng.normal(size=start.shape)
        for name, (a, b) in (("reference", hard), ("random", easy)):
            for threads in (1, 2):
                rate = len(a) / seconds(lambda: detect(a, b, threads=threads), 3)
                print(f"{kind} {name} queries, {threads} threads: {rate / 1e6:.2f} million a second")


if __name__ == "__main__":
    reading()
    making()
    many()
    queries()
