"""Scenes and places that several tests use."""

from __future__ import annotations

import os
import subprocess
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

DRAPE: dict[str, Any] = {
    "output": {"frames": 8, "frame_rate": 50},
    "solver": {"time_step": 0.01},
    "cloth": {
        "sheet": {
            "grid": {"size": [0.3, 0.3], "cells": [8, 8]},
            "translate": [0, 0, 0.105],
            "fabric": "wool-woven",
        }
    },
    "obstacle": {
        "ball": {"sphere": {"radius": 0.1}, "friction": 0.4},
        "floor": {"plane": {"point": [0, 0, -0.1]}, "friction": 0.4},
    },
    "measure": [{"name": "height", "kind": "height"}],
}


@pytest.fixture
def drape() -> dict[str, Any]:
    """A small sheet that falls on a ball: contacts from the first frames on."""
    return deepcopy(DRAPE)


@pytest.fixture
def swinging() -> dict[str, Any]:
    """A small sheet held by two pins, nothing to touch."""
    return {
        "output": {"frames": 8, "frame_rate": 50},
        "solver": {"time_step": 0.01},
        "cloth": {"sheet": {"grid": {"size": [0.2, 0.2], "cells": [4, 4]}, "fabric": "paper"}},
        "pin": {
            "left": {"cloth": "sheet", "vertices": [0]},
            "right": {"cloth": "sheet", "vertices": [4]},
        },
    }


@pytest.fixture(scope="session")
def program() -> Path:
    """The `muslin` command, whose results the package has to match to the bit."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    default = target / "debug" / ("muslin.exe" if os.name == "nt" else "muslin")
    found = Path(os.environ.get("MUSLIN_PROGRAM", default))
    if not found.is_file():
        pytest.fail(f"{found} is not there; build it with `cargo build --package muslin-cli`")
    return found


def command(program: Path, *words: str | Path) -> None:
    """Runs the command and fails with what it said."""
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 3), done.stderr
