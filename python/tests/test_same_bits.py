"""A simulation driven from Python is the one that the command line runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import muslin
import numpy as np
import pytest
from conftest import command

# Contacts with friction, several cloths, keyframes, wind, the other method.
SCENES: list[tuple[str, dict[str, Any]]] = [
    ("incline", {"output.frames": 2}),
    ("two_cards", {"output.frames": 2}),
    ("flag", {"output.frames": 2}),
    ("carried", {"output.frames": 2, "solver.method": "impulse"}),
]


def steps(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
    for line in lines:
        del line["seconds"]
    return lines


@pytest.mark.parametrize(("scene", "changes"), SCENES)
def test_run_folder_is_that_of_the_command_line(
    scene: str, changes: dict[str, Any], program: Path, tmp_path: Path
) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    options = [word for path, value in changes.items() for word in ("--set", f"{path}={value}")]
    command(program, "run", scene, "--out", theirs, "--quiet", *options)
    sim = muslin.Simulation(scene, set=changes, threads=2)
    sim.record(ours)
    sim.run(progress=False)
    summary = sim.finish()
    assert summary["complete"] and summary["frames"] == changes["output.frames"] + 1
    names = sorted(file.name for file in (theirs / "frames").iterdir())
    assert names == sorted(file.name for file in (ours / "frames").iterdir())
    for name in names:
        assert (theirs / "frames" / name).read_bytes() == (ours / "frames" / name).read_bytes()
    assert (theirs / "scene.toml").read_text() == (ours / "scene.toml").read_text()
    assert steps(theirs) == steps(ours)
    with np.load(ours / "frames" / names[-1]) as last:
        for cloth in sim.names:
            assert (last[f"{cloth}/x"] == sim.positions(cloth)).all()


def test_dict_is_the_same_scene_as_its_file(
    drape: dict[str, Any], program: Path, tmp_path: Path
) -> None:
    first = muslin.Simulation(drape, name="drape")
    first.record(tmp_path / "run")
    first.run(progress=False)
    # The recorded scene, run by the command line.
    command(program, "run", tmp_path / "run" / "scene.toml", "--out", tmp_path / "again", "--quiet")
    for frame in range(first.frames + 1):
        name = f"frames/{frame:06}.npz"
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_arrays_are_the_same_cloth_as_the_generator(drape: dict[str, Any]) -> None:
    made = muslin.Simulation(drape)
    flat = made.positions("sheet").copy()
    texture = np.empty((len(flat), 2))
    texture[made.faces("sheet")] = made.material("sheet")
    scene = muslin.Scene(**{k: drape[k] for k in ("output", "solver", "obstacle", "measure")})
    scene.add_cloth("sheet", flat, made.faces("sheet"), texture=texture, fabric="wool-woven")
    given = muslin.Simulation(scene)
    for sim in (made, given):
        sim.run(4, progress=False)
    assert made.stats.contacts > 0
    assert (made.positions("sheet") == given.positions("sheet")).all()


def test_threads_do_not_change_bits(drape: dict[str, Any]) -> None:
    ends = []
    for threads in (1, 2, 3):
        sim = muslin.Simulation(drape, threads=threads)
        sim.run(5, progress=False)
        assert sim.threads == threads
        ends.append(sim.positions("sheet"))
    assert (ends[0] == ends[1]).all() and (ends[0] == ends[2]).all()


def test_many_at_once_give_the_bits_of_one_after_another(drape: dict[str, Any]) -> None:
    def make() -> list[muslin.Simulation]:
        frictions = np.linspace(0.1, 0.8, 6)
        return [muslin.Simulation(drape, set={"obstacle.ball.friction": f}) for f in frictions]

    alone, together = make(), make()
    for sim in alone:
        sim.run(5, progress=False)
    muslin.run_many(together, 5, threads=2)
    for a, b in zip(alone, together):
        assert (a.positions("sheet") == b.positions("sheet")).all()
        assert (a.velocities("sheet") == b.velocities("sheet")).all()
    assert not (alone[0].positions("sheet") == alone[-1].positions("sheet")).all()


def test_many_report_the_error_of_one(drape: dict[str, Any], tmp_path: Path) -> None:
    sims = [muslin.Simulation(drape) for _ in range(3)]
    sims[1].record(tmp_path / "run")
    shutil.rmtree(tmp_path / "run")  # nothing can be written there any more
    with pytest.raises(muslin.RecordError, match="run"):
        muslin.run_many(sims, 3, threads=2)
    sims[0].step()  # the others are whole
    with pytest.raises(ValueError, match="twice"):
        muslin.run_many([sims[0], sims[0]], 1)
