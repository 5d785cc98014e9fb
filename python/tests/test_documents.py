"""Every public name says what it is, in which unit, and how it is used; the examples run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import pkgutil
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import muslin
import numpy as np
import pytest
from conftest import ROOT

EXAMPLES = sorted((ROOT / "python" / "examples").glob("*.py"))
MODULES = [m.name for m in pkgutil.iter_modules(muslin.__path__) if not m.name.startswith("_")]


def public() -> Iterator[tuple[str, Any]]:
    """Functions, classes and their methods and properties, by their full names."""
    for name in MODULES:
        module = importlib.import_module(f"muslin.{name}")
        for entry in module.__all__:
            yield f"{name}.{entry}", getattr(module, entry)
    yield "scenes", muslin.scenes
    yield "fabrics", muslin.fabrics
    for owner, value in list(vars(muslin).items()):
        if inspect.isclass(value):
            own = [c for c in value.__mro__ if c.__module__.startswith("muslin")]
            for entry, member in (pair for c in own for pair in vars(c).items()):
                if not entry.startswith("_") and (callable(member) or isinstance(member, (property, classmethod))):
                    yield f"{owner}.{entry}", member


PUBLIC = dict(public())


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_documented_with_an_example(name: str) -> None:
    value = PUBLIC[name]
    if name == "friction.FrictionMethod":
        return  # a list of words; where it is used says the rest
    text = inspect.getdoc(value) or ""
    assert len(text.splitlines()[0]) > 10 if text else False, f"{name} has no docstring"
    assert ">>>" in text, f"{name} has no example"


def test_everything_exported_is_there() -> None:
    exported = {entry for name in MODULES for entry in importlib.import_module(f"muslin.{name}").__all__}
    listed = set(muslin.__all__) | {"SurfacePoints", "edge_edge", "point_triangle", "to_surface", "vertex_face"}
    assert exported <= listed
    assert all(hasattr(muslin, name) for name in muslin.__all__)


@pytest.mark.parametrize("name", ["muslin", *(f"muslin.{m}" for m in (*MODULES, "_reading", "_steering"))])
def test_the_examples_of_docstrings_run(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0
    assert tried > 0


@pytest.mark.parametrize("example", EXAMPLES, ids=[e.stem for e in EXAMPLES])
def test_examples_run(example: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, example, "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "an example says what it found"
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert written and all(file.stat().st_size > 0 for file in written)
    check = CHECKS[example.stem]
    check(done.stdout, tmp_path)


def sheet() -> dict[str, Any]:
    """What the snippets take as given: arrays of a square sheet, and others."""
    x, y = np.meshgrid(np.linspace(-0.2, 0.2, 5), np.linspace(-0.2, 0.2, 5), indexing="ij")
    corner = np.arange(25).reshape(5, 5)
    a, b, c, d = (part.ravel() for part in (corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]))
    flat = np.stack([x.ravel(), y.ravel()], axis=1)
    motion = np.random.default_rng(1).normal(size=(2, 5, 4, 3))
    return {
        "V": np.column_stack([flat, np.full(25, 0.12)]),
        "F": np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]),
        "UV": flat,
        "A": np.eye(3),
        "b": [1.0, 0, 0],
        "contacts": [],
        "x0": motion[0],
        "x1": motion[1],
        "points": motion[0, :, 0],
    }


def test_the_snippets_of_the_guide_and_the_readme_run() -> None:
    texts = [(ROOT / file).read_text() for file in ("README.md", "book/src/guide/python.md")]
    snippets = [code for text in texts for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL)]
    snippets = [code for code in snippets if "numpy.load" not in code]  # that reads a recording of its own
    names = sheet()
    for code in snippets:
        if "finger" in code:
            # It goes on with the simulation of an example.
            grasp = runpy.run_path(str(ROOT / "python" / "examples" / "grasp.py"))
            gripper = grasp["Gripper"](grasp["strip_and_plates"](0.6))
            names.update(sim=gripper.sim, n=gripper.vertices, y=0.0105, z=0.05)
        short = code.replace("run(60)", "run(1)").replace("frames=60", "frames=1").replace("range(40)", "range(4)")
        exec(compile(short, "snippet", "exec"), names)
    assert len(snippets) == 6


def numbers(line: str) -> list[float]:
    found = []
    for word in line.replace(",", " ").split():
        try:
            found.append(float(word))
        except ValueError:
            continue
    return found


def drape(out: str, folder: Path) -> None:
    assert (folder / "drape" / "summary.json").is_file() and (folder / "drape.png").is_file()
    overhang = next(line for line in out.splitlines() if "hangs" in line)
    assert 0 < numbers(overhang)[0] < 0.5


def sweep(out: str, folder: Path) -> None:
    assert (folder / "friction_sweep.png").read_bytes().startswith(b"\x89PNG")
    rows = [numbers(line) for line in out.splitlines() if line.strip()[:1].isdigit()]
    slope = np.tan(np.radians(20))
    for mu, moved, expected in rows:
        assert moved == pytest.approx(expected, abs=2e-3)
        assert (moved < 1e-5) == (mu > slope)
    assert len(rows) >= 8


def grasp(out: str, folder: Path) -> None:
    rows = [numbers(line) for line in out.splitlines() if line.strip()[:1].isdigit()]
    assert len(rows) > 5
    weight = next(numbers(line)[0] for line in out.splitlines() if line.startswith("weight"))
    assert rows[-1][3] == pytest.approx(weight, rel=0.1)


def dataset(out: str, folder: Path) -> None:
    with np.load(folder / "drapes.npz") as data:
        assert data["positions"].shape[0] == 20 and data["positions"].shape[2] == 3
        assert np.isfinite(data["positions"]).all()
        assert len(np.unique(data["height"])) == 20


CHECKS = {"drape_and_measure": drape, "friction_sweep": sweep, "grasp": grasp, "dataset": dataset}


def test_the_four_examples_are_there() -> None:
    assert {e.stem for e in EXAMPLES} == set(CHECKS)
