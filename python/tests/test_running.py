"""Running, interrupting, looking, and what errors say."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import muslin
import numpy as np
import pytest

SLOW = """
import muslin, signal, sys
# What a shell starts in the background ignores Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
scene = {"output": {"frames": 100000, "frame_rate": 50}, "solver": {"time_step": 0.01},
         "cloth": {"sheet": {"grid": {"size": [1, 1], "cells": [20, 20]}, "fabric": "paper"}},
         "pin": {"a": {"cloth": "sheet", "vertices": [0]}}}
sims = [muslin.Simulation(scene) for _ in range(2)]
sims[0].record(sys.argv[1])
print("ready", flush=True)
try:
    if sys.argv[2] == "one":
        sims[0].run()
    else:
        muslin.run_many(sims, threads=2)
except KeyboardInterrupt:
    sims[0].step()          # still whole
    print("interrupted at", sims[0].steps, flush=True)
"""


@pytest.mark.parametrize("how", ["one", "many"])
def test_a_long_run_can_be_interrupted(how: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(folder), how], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.startswith("interrupted at") and int(out.split()[-1]) > 1
    summary = json.loads((folder / "summary.json").read_text())
    assert not summary["complete"] and summary["steps"] > 0
    frames = sorted((folder / "frames").iterdir())
    with np.load(frames[-1]) as last:
        assert np.isfinite(last["sheet/x"]).all()


def test_progress_is_told(drape: dict[str, Any], capfd: pytest.CaptureFixture[str]) -> None:
    drape["cloth"]["sheet"]["grid"]["cells"] = [30, 30]
    sim = muslin.Simulation(drape, name="towel")
    sim.run(4)
    told = capfd.readouterr()
    assert told.out == "" and "towel: frame" in told.err and "/4" in told.err
    sim.run(1, progress=False)
    assert capfd.readouterr().err == ""
    sim.run()
    assert sim.frame == sim.frames == 8
    sim.run()  # nothing left to do
    assert sim.frame == 8


def test_reports_are_those_of_the_run_folder(drape: dict[str, Any], tmp_path: Path) -> None:
    sim = muslin.Simulation(drape)
    sim.record(tmp_path / "run")
    sim.run(3, progress=False)
    stats, measures = sim.stats, sim.measures
    summary = sim.finish()
    last = json.loads((tmp_path / "run" / "steps.jsonl").read_text().splitlines()[-1])
    assert stats.raw == last
    assert (stats.step, stats.time) == (6, sim.time) and stats.intersections == 0
    assert stats.measures == measures == {"height": pytest.approx(summary["measures"]["height"]["end"])}
    contacts = sim.contacts()
    assert len(contacts) == stats.contacts > 0
    assert (contacts.state == 1).sum() == stats.sticking
    assert contacts.of("ball").sum() + contacts.of("floor").sum() == len(contacts)
    assert np.linalg.norm(contacts.normal, axis=1) == pytest.approx(1)
    # Impulses are those on the first party, which may be the obstacle.
    on_sheet = np.where(contacts.parties[:, :1] >= 0, 1, -1)
    total = (contacts.impulse * on_sheet).sum(axis=0) / sim.time_step
    assert sim.contact_force("sheet") == pytest.approx(total, abs=1e-12)
    with pytest.raises(KeyError):
        contacts.of("nobody")


def test_a_simulation_is_used_by_one_thread_at_a_time(drape: dict[str, Any]) -> None:
    drape["cloth"]["sheet"]["grid"]["cells"] = [40, 40]
    sim = muslin.Simulation(drape)
    worker = threading.Thread(target=lambda: sim.step(5))
    refused = 0
    worker.start()
    while worker.is_alive():
        try:
            sim.positions("sheet")
        except RuntimeError as error:
            assert "another thread" in str(error)
            refused += 1
            time.sleep(0.001)
    worker.join()
    assert refused > 0 and sim.steps == 5


def test_stepping_lets_other_threads_run(drape: dict[str, Any]) -> None:
    drape["cloth"]["sheet"]["grid"]["cells"] = [40, 40]
    sim = muslin.Simulation(drape)
    worker = threading.Thread(target=lambda: sim.step(4))
    counted = 0
    worker.start()
    while worker.is_alive():
        counted += 1
    assert counted > 1000


FORKED = """
import multiprocessing, sys
import muslin, numpy as np
x = np.zeros((3, 4, 3)) + np.arange(4)[:, None]
def times(_):
    return muslin.ccd.edge_edge(x, x, threads=2).tolist()
def steps(sim=muslin.Simulation("hanging_cloth", threads=2)):
    sim.step()
    return sim.positions("sheet").sum()
def work(_):
    return steps(), times(0)
if __name__ == "__main__":
    here = times(0)                # its threads are at work before the process is forked
    with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        found = pool.map(work, range(2), chunksize=1)
    assert found == [(steps(), here)] * 2
    print("the same")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_processes_have_threads_of_their_own() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60)
    assert done.stdout == "the same\n", done.stderr


def test_a_step_that_fails_leaves_the_state_before_it(swinging: dict[str, Any]) -> None:
    swinging["pin"]["left"]["path"] = {"z": "0.01*sqrt(0.0375 - t)"}  # undefined in the middle of the fourth step
    sim = muslin.Simulation(swinging, set={"solver.method": "impulse"})
    sim.step(3)
    x = sim.positions("sheet")
    with pytest.raises(muslin.StepError, match="left"):
        sim.step()
    assert (sim.positions("sheet") == x).all() and sim.steps == sim.stats.step == 3
    sim.set("pin.left.path.z", "0")
    sim.step()


def test_errors_are_those_of_the_command_line(program: Path, tmp_path: Path) -> None:
    scene = tmp_path / "wrong.toml"
    scene.write_text('[cloth.a]\ngrid = { size = [1, 1], cells = [2, 2] }\nfabric = "papr"\n')
    theirs = subprocess.run([program, "run", scene], capture_output=True, text=True, cwd=tmp_path)
    assert theirs.returncode == 2
    with pytest.raises(muslin.SceneError) as caught:
        muslin.Simulation(scene)
    error = caught.value
    assert theirs.stderr == f"error: {error}\n"
    assert (error.file, error.line, error.key) == (str(scene), 3, "cloth.a.fabric")
    assert error.remedy == "did you mean `paper`?" and "papr" in error.problem
    with pytest.raises(muslin.SceneError, match="hanging_cloth"):
        muslin.Simulation("hanging_clth")
    with pytest.raises(muslin.SceneError, match="folder"):
        muslin.Simulation(tmp_path)


def test_what_crosses_at_the_start_is_refused_or_told(drape: dict[str, Any]) -> None:
    drape["cloth"]["sheet"]["translate"] = [0, 0, 0.05]
    with pytest.raises(muslin.SceneError, match="cross each other") as caught:
        muslin.Simulation(drape)
    assert caught.value.key == "obstacle.ball"
    with pytest.warns(UserWarning, match="left out of contact"):
        sim = muslin.Simulation(drape, set={"start": "ignore-pairs"})
    assert any("ball" in line for line in sim.crossings())


def test_pictures(drape: dict[str, Any], tmp_path: Path) -> None:
    sim = muslin.Simulation(drape)
    picture = sim.show(size=(160, 120), contacts=True)
    assert picture._repr_png_() == picture.png and picture.png.startswith(b"\x89PNG")
    assert picture.pixels.shape == (120, 160, 3)
    assert picture.pixels.std() > 10  # not all of one colour
    sim.run(4, progress=False)
    assert (sim.show(size=(160, 120)).pixels != picture.pixels).any()
    picture.save(tmp_path / "drape.png")
    assert (tmp_path / "drape.png").read_bytes() == picture.png
    for size in ((0, 10), (100000, 100)):
        with pytest.raises(ValueError, match="size"):
            sim.show(size=size)


def test_the_viewer_serves_until_it_is_closed(drape: dict[str, Any], tmp_path: Path) -> None:
    sim = muslin.Simulation(drape)
    sim.record(tmp_path / "run")
    sim.run(2, progress=False)
    with muslin.view(tmp_path / "run", open_browser=False) as viewer:
        with urllib.request.urlopen(viewer.url + "api/runs", timeout=10) as answer:
            runs = json.load(answer)["runs"]
        assert len(runs) == 1 and viewer.url in repr(viewer)
        port = int(viewer.url.rstrip("/").split(":")[-1])
        with pytest.raises(ValueError, match="port"):
            muslin.view(tmp_path / "run", open_browser=False, port=port)
    viewer.close()
    with pytest.raises(OSError):
        urllib.request.urlopen(viewer.url, timeout=2)
    with pytest.raises(muslin.SceneError):
        muslin.view(tmp_path / "nothing", open_browser=False)
    with pytest.raises(muslin.RecordError):
        (tmp_path / "empty").mkdir()
        muslin.view(tmp_path / "empty", open_browser=False)
    with pytest.raises(TypeError):
        muslin.view()


def test_a_browser_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    with muslin.view("hanging_cloth") as viewer:
        assert opened == [viewer.url]


def test_scenes_are_found_by_path_and_name(tmp_path: Path) -> None:
    assert "hanging_cloth" in muslin.scenes() and all(muslin.scenes().values())
    assert len(muslin.fabrics()) >= 19
    text = "[cloth.a]\ngrid = { size = [1, 1], cells = [2, 2] }\nfabric = 'paper'\n"
    (tmp_path / "mine.toml").write_text(text)
    for path in (tmp_path / "mine.toml", str(tmp_path / "mine.toml")):
        assert muslin.Simulation(path).name == "mine"
    assert muslin.__version__.count(".") == 2
