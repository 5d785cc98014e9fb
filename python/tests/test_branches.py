"""Clones, saved files and resumed recordings go on with the same bits."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import muslin
import numpy as np
import numpy.typing as npt
import pytest


def state(sim: muslin.Simulation) -> npt.NDArray[np.float64]:
    return np.concatenate([sim.positions("sheet"), sim.velocities("sheet")])


def drive(sim: muslin.Simulation) -> None:
    """Everything that can be changed between steps."""
    sim.set("gravity", [0, 1.0, -9.0])
    sim.move("ball", position=[0.004, 0, 0.002], rotation=[0, 0, 0.05, 1], duration=0.05)
    sim.pin("hand", "sheet", [0, 1], axes="xz")
    held = sim.positions("sheet")[sim.pin_vertices("hand")]
    sim.move_pin("hand", held + [0.002, 0, 0.004], duration=0.06)
    sim.set_forces("sheet", [1e-4, 0, 0])


def test_clone_then_step_is_step_then_clone(drape: dict[str, Any]) -> None:
    sim = muslin.Simulation(drape)
    sim.run(4, progress=False)
    drive(sim)
    sim.step(3)
    assert sim.stats.contacts > 0
    before = sim.clone()
    assert before.stats.step == sim.stats.step
    sim.step(5)
    after = sim.clone()
    before.step(5)
    assert (state(before) == state(after)).all()
    assert before.time == after.time and before.pins == after.pins


def test_copies_are_clones(drape: dict[str, Any]) -> None:
    sim = muslin.Simulation(drape)
    sim.step()
    kept = state(sim)
    for other in (copy.copy(sim), copy.deepcopy(sim)):
        other.step()
        assert other.steps == 2 and sim.steps == 1
    assert (state(sim) == kept).all()


def test_clones_do_not_see_each_other(drape: dict[str, Any]) -> None:
    sim = muslin.Simulation(drape)
    sim.step(2)
    kept = state(sim)
    other = sim.clone()
    other.move("ball", position=[0, 0, 0.01])
    other.set_positions("sheet", other.positions("sheet") + [0, 0, 1])
    other.pin("hand", "sheet", [0])
    other.set("obstacle.ball.friction", 0.1)
    other.step(3)
    assert (state(sim) == kept).all() and sim.pins == [] and sim.steps == 2
    assert (sim.pose("ball").position == 0).all()
    assert sim.scene["obstacle"]["ball"]["friction"] == 0.4


def test_saved_files_go_on_with_the_same_bits(drape: dict[str, Any], tmp_path: Path) -> None:
    sim = muslin.Simulation(drape)
    sim.run(4, progress=False)
    drive(sim)
    sim.step(3)
    sim.save(tmp_path / "state.npz")
    fresh = muslin.Simulation.from_saved(tmp_path / "state.npz", threads=2)
    assert (state(fresh) == state(sim)).all() and fresh.steps == sim.steps
    assert (fresh.contacts().impulse == sim.contacts().impulse).all()
    assert (fresh.forces("sheet") == sim.forces("sheet")).all()
    sim.step(6)
    fresh.step(6)
    assert (state(fresh) == state(sim)).all()
    sim.load(tmp_path / "state.npz")
    sim.step(6)
    assert (state(fresh) == state(sim)).all()


def test_damaged_files_are_refused(drape: dict[str, Any], tmp_path: Path) -> None:
    sim = muslin.Simulation(drape)
    sim.save(tmp_path / "state.npz")
    whole = (tmp_path / "state.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    np.savez(tmp_path / "foreign.npz", x=np.zeros((3, 3)))
    for name in ("cut.npz", "foreign.npz", "missing.npz"):
        with pytest.raises(muslin.RecordError, match=name):
            sim.load(tmp_path / name)
    with pytest.raises(muslin.RecordError):
        sim.save(tmp_path / "no" / "folder.npz")
    sim.step()  # still whole


def test_a_recording_goes_on_where_it_was(drape: dict[str, Any], tmp_path: Path) -> None:
    whole = muslin.Simulation(drape)
    whole.record(tmp_path / "whole")
    whole.run(progress=False)
    first = muslin.Simulation(drape)
    first.record(tmp_path / "parts")
    first.run(3, progress=False)
    with pytest.raises(muslin.RecordError, match="unfinished"):
        muslin.Simulation(drape).record(tmp_path / "parts")
    second = muslin.Simulation(drape)
    second.record(tmp_path / "parts", resume=True)
    assert second.frame == 3
    second.run(progress=False)
    assert second.finish()["complete"]
    for n in range(9):
        name = f"frames/{n:06}.npz"
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()
    with pytest.raises(RuntimeError, match="nothing is being recorded"):
        second.finish()


def test_a_steered_recording_goes_on_where_it_was(drape: dict[str, Any], tmp_path: Path) -> None:
    def begin(folder: Path) -> muslin.Simulation:
        sim = muslin.Simulation(drape)
        sim.record(folder)
        sim.run(2, progress=False)
        drive(sim)
        sim.run(2, progress=False)
        return sim

    whole, part = begin(tmp_path / "whole"), begin(tmp_path / "part")
    whole.run(progress=False)
    part.finish()
    # The scene as it was changed on the way is what the folder goes on with.
    again = muslin.Simulation(tmp_path / "part" / "scene.toml")
    again.record(tmp_path / "part", resume=True)
    again.run(progress=False)
    assert (state(again) == state(whole)).all()


def test_a_recording_is_one_run_from_start_to_end(drape: dict[str, Any], tmp_path: Path) -> None:
    sim = muslin.Simulation(drape)
    sim.record(tmp_path / "run")
    assert sim.recording == tmp_path / "run" and sim.clone().recording is None
    sim.run(1, progress=False)
    sim.save(tmp_path / "state.npz")
    sim.run(1, progress=False)
    with pytest.raises(muslin.RecordError, match=r"finish\(\)"):
        sim.load(tmp_path / "state.npz")
    with pytest.raises(muslin.RecordError, match=r"finish\(\)"):
        sim.record(tmp_path / "other")
    sim.run(1, progress=False)
    sim.finish()
    lines = (tmp_path / "run" / "steps.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == list(range(1, 7))
    sim.load(tmp_path / "state.npz")
    assert sim.frame == 1 and sim.recording is None
    # A recording may begin anywhere.
    sim.record(tmp_path / "other")
    sim.run(2, progress=False)
    assert sim.finish()["frames"] == 3


def test_folders_that_hold_other_things_are_refused(drape: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    sim = muslin.Simulation(drape)
    with pytest.raises(muslin.RecordError, match="other files"):
        sim.record(tmp_path)
    sim.step()
    with pytest.raises(muslin.RecordError, match="frame"):
        sim.record(tmp_path / "new")
