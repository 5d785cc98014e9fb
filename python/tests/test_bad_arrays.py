"""No array harms the interpreter; what is wrong is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import muslin
import numpy as np
import pytest

NAN = float("nan")
GOOD = np.zeros((5, 4, 3))
MESH = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
FACE = np.array([[0, 1, 2]], dtype=np.int32)

CASES: list[tuple[str, Callable[[], Any], type[Exception], str]] = [
    ("shape", lambda: muslin.ccd.vertex_face(np.zeros((5, 3, 3)), GOOD), ValueError, r"x0 has shape \(5, 3, 3\)"),
    ("flat", lambda: muslin.ccd.edge_edge(GOOD, np.zeros(60)), ValueError, "x1 has shape"),
    ("length", lambda: muslin.ccd.edge_edge(GOOD, GOOD[1:]), ValueError, "5 rows"),
    ("nan", lambda: muslin.ccd.vertex_face(GOOD, np.full_like(GOOD, NAN)), ValueError, r"x1\[0, 0, 0\] is nan"),
    ("complex", lambda: muslin.ccd.vertex_face(GOOD.astype(complex), GOOD), TypeError, "complex128"),
    ("text", lambda: muslin.ccd.vertex_face("hello", GOOD), TypeError, "dtype"),
    ("objects", lambda: muslin.ccd.vertex_face(np.full((1, 4, 3), None), GOOD), TypeError, "object"),
    ("ragged", lambda: muslin.ccd.vertex_face([[1], [2, 3]], GOOD), ValueError, "x0"),
    ("separation", lambda: muslin.ccd.vertex_face(GOOD, GOOD, separation=0), ValueError, "separation"),
    ("threads", lambda: muslin.ccd.vertex_face(GOOD, GOOD, threads=-1), ValueError, "threads"),
    ("many threads", lambda: muslin.ccd.vertex_face(GOOD, GOOD, threads=10**6), ValueError, "threads"),
    ("endless threads", lambda: muslin.ccd.vertex_face(GOOD, GOOD, threads=10**30), ValueError, "threads"),
    ("no separation", lambda: muslin.ccd.vertex_face(GOOD, GOOD, separation="1"), TypeError, "separation"),  # type: ignore[arg-type]
    ("nan separation", lambda: muslin.ccd.edge_edge(GOOD, GOOD, separation=NAN), ValueError, "separation"),
    ("masked", lambda: muslin.ccd.edge_edge(np.ma.masked_array(GOOD, GOOD > 0), GOOD), TypeError, "x0 is a masked"),
    ("half a thread", lambda: muslin.ccd.vertex_face(GOOD, GOOD, threads=0.5), TypeError, "threads"),  # type: ignore[arg-type]
    ("vertex", lambda: muslin.intersections(MESH, [[0, 1, 3]]), ValueError, r"F\[0, 2\] is 3"),
    ("below", lambda: muslin.intersections(MESH, [[0, 1, -1]]), ValueError, "is -1"),
    ("huge", lambda: muslin.intersections(MESH, [[0, 1, 2**40]]), ValueError, "must be"),
    ("float faces", lambda: muslin.intersections(MESH, [[0.0, 1.0, 2.0]]), TypeError, "whole numbers"),
    ("quads", lambda: muslin.intersections(MESH, [[0, 1, 2, 0]]), ValueError, "shape"),
    ("one mesh", lambda: muslin.intersections(MESH, FACE, MESH), TypeError, "both"),
    ("infinite", lambda: muslin.intersections(MESH + np.inf, FACE), ValueError, "finite"),
    ("beyond", lambda: muslin.intersections(MESH * 1e80, FACE), ValueError, "limit"),
    ("triangles", lambda: muslin.distance.point_triangle([[0, 0, 0]], np.zeros((2, 3, 3))), ValueError, "as many"),
    ("no surface", lambda: muslin.distance.to_surface([[0, 0, 0]], MESH, np.zeros((0, 3), int)), ValueError, "empty"),
    ("planar", lambda: muslin.distance.edge_edge(np.zeros((1, 2, 2)), np.zeros((1, 2, 2))), ValueError, "shape"),
]


@pytest.mark.parametrize(("call", "kind", "says"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_queries(call: Callable[[], Any], kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        call()


def test_views_and_other_types_are_read_as_they_are() -> None:
    rng = np.random.default_rng(7)
    x0 = rng.normal(size=(400, 4, 3))
    x1 = rng.normal(size=(400, 4, 3))
    expected = muslin.ccd.vertex_face(x0, x1)
    assert np.isfinite(expected).any() and np.isinf(expected).any()
    wide = np.zeros((800, 4, 6))
    wide[::2, :, ::2] = x0
    frozen = x1.copy()
    frozen.flags.writeable = False
    swapped = x0.astype(x0.dtype.newbyteorder())
    fortran = np.asfortranarray(x0)
    for start in (wide[::2, :, ::2], swapped, fortran, x0.tolist()):
        assert (muslin.ccd.vertex_face(start, frozen) == expected).all()
    single = x0.astype(np.float32)
    assert (muslin.ccd.vertex_face(single, x1) == muslin.ccd.vertex_face(single.astype(float), x1)).all()
    misaligned = np.frombuffer(b"x" + x0.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(x0.shape)
    assert (muslin.ccd.vertex_face(misaligned, x1) == expected).all()
    assert muslin.ccd.vertex_face(x0[:0], x1[:0]).shape == (0,)


def test_states_are_checked(drape: dict[str, Any]) -> None:
    sim = muslin.Simulation(drape)
    n = len(sim.positions("sheet"))
    bad: list[tuple[Any, type[Exception], str]] = [
        (np.zeros((n - 1, 3)), ValueError, "rows"),
        (np.zeros((n, 2)), ValueError, "shape"),
        (np.zeros(3 * n), ValueError, "shape"),
        (np.full((n, 3), NAN), ValueError, "nan"),
        (np.full((n, 3), np.inf), ValueError, "inf"),
        (np.full((n, 3), 1e300), ValueError, "not a usable number"),
        (np.zeros((n, 3), dtype=complex), TypeError, "complex"),
        (np.zeros((n, 3), dtype=bool), TypeError, "bool"),
        (None, TypeError, "dtype"),
    ]
    for value, kind, says in bad:
        for change in (sim.set_positions, sim.set_velocities):
            with pytest.raises(kind, match=says):
                change("sheet", value)
    sim.step()


def test_steering_is_checked(drape: dict[str, Any]) -> None:
    sim = muslin.Simulation(drape)
    bad: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: sim.set_forces("sheet", [[1], [2, 3]]), ValueError, "forces is not an array"),
        (lambda: sim.set_forces("sheet", [1, 2]), ValueError, "forces has shape"),
        (lambda: sim.move("ball", rotation=[[1], [2, 3]]), ValueError, "rotation is not an array"),
        (lambda: sim.move("ball", position="here"), TypeError, "position"),
        (lambda: sim.move("ball", position=[1e300, 0, 0]), ValueError, "usable"),
        (lambda: sim.move("ball", scale="big"), TypeError, "scale"),  # type: ignore[arg-type]
        (lambda: sim.move("ball", scale=10**400), ValueError, "scale"),
        (lambda: sim.move("ball", duration=NAN), ValueError, "duration"),
        (lambda: sim.step(10**30), ValueError, "steps"),
        (lambda: sim.step(1.5), TypeError, "steps"),  # type: ignore[arg-type]
        (lambda: sim.run(-1), ValueError, "frames"),
        (lambda: sim.show(size=64), TypeError, "width and height"),  # type: ignore[arg-type]
        (lambda: sim.show(size=(64, 64, 64)), TypeError, "width and height"),  # type: ignore[arg-type]
        (lambda: muslin.run_many([sim, 3]), TypeError, "not int"),  # type: ignore[list-item]
        (lambda: muslin.Simulation("incline", name="mine"), TypeError, "name"),
        (lambda: muslin.Scene().add_pin("hand", vertices=[0]), TypeError, "cloth or soft"),
        (lambda: muslin.Scene(measure={}).add_measure("a", "height"), TypeError, "not a list"),
    ]
    for call, kind, says in bad:
        with pytest.raises(kind, match=says):
            call()
    assert sim.steps == 0
    sim.step()


def test_outputs_are_checked(drape: dict[str, Any]) -> None:
    sim = muslin.Simulation(drape)
    n = len(sim.positions("sheet"))
    frozen = np.zeros((n, 3))
    frozen.flags.writeable = False
    bad: list[tuple[Any, type[Exception], str]] = [
        (np.zeros((n + 1, 3)), ValueError, "shape"),
        (np.zeros((n, 6))[:, ::2], ValueError, "contiguous"),
        (frozen, ValueError, "read-only"),
        (np.zeros((n, 3), np.float32), TypeError, "float32"),
        ([[0.0] * 3] * n, TypeError, "list"),
    ]
    for out, kind, says in bad:
        for read in (sim.positions, sim.velocities):
            with pytest.raises(kind, match=says):
                read("sheet", out=out)
    ball = sim.positions("ball")
    assert sim.positions("ball", out=np.zeros_like(ball)) == pytest.approx(ball)
    with pytest.raises(ValueError, match="shape"):
        sim.positions("ball", out=np.zeros((1, 3)))
    with pytest.raises(ValueError, match="read-only"):
        sim.faces("sheet")[0, 0] = 1
    x = sim.positions("sheet")
    kept = x.copy()
    x += 1  # the caller's own
    assert (sim.positions("sheet") == kept).all()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (dict(A=np.eye(4)), "3n"),
        (dict(A=np.zeros((3, 6))), "3n"),
        (dict(A=np.eye(3) * NAN), "nan"),
        (dict(A=np.triu(np.ones((3, 3)) + 9 * np.eye(3))), "not symmetric"),
        (dict(A=-np.eye(3)), "positive definite"),
        (dict(b=[1.0, 2.0]), "b has shape"),
        (dict(b=[NAN, 0, 0]), "nan"),
        (dict(contacts=[{"nodes": [0]}]), "has no `weights`"),
        (dict(nodes=[1]), "nodes"),
        (dict(nodes=[0, 0], weights=[1.0, -1.0]), "twice"),
        (dict(nodes=[]), "1 to 4"),
        (dict(nodes=[0, 0, 0, 0, 0], weights=[1.0] * 5), "1 to 4"),
        (dict(weights=[1.0, 2.0]), "weights"),
        (dict(E=np.zeros((3, 3))), "orthonormal"),
        (dict(E=np.eye(2)), "shape"),
        (dict(mu=-0.1), "negative"),
        (dict(mu=NAN), "nan"),
        (dict(mu=[0.1, 0.2, 0.3]), "mu of contact 0 has shape"),
        (dict(mu="rough"), "mu has dtype"),
        (dict(contacts=[3]), "contact 0 must be a dict"),
        (dict(contacts=None), "list of dicts"),
        (dict(contacts="none"), "list of dicts"),
        (dict(b=[[1.0], [2.0, 3.0]]), "b is not an array"),
        (dict(tolerance="fine"), "tolerance must be a number"),
        (dict(max_sweeps=10**30), "max_sweeps"),
        (dict(A=2 * np.eye(3) + 0.1, free=[[True, False, True]]), "not free"),
        (dict(uf=[0, 0]), "uf"),
        (dict(free=[[1, 1, 1]]), "free"),
        (dict(inertia=[-1.0]), "inertia"),
        (dict(tolerance=0.0), "tolerance"),
        (dict(method="guess"), "guess"),
        (dict(r0=np.zeros((2, 3))), "r0"),
        (dict(v0=np.zeros(6)), "v0"),
    ],
)
def test_friction_problems_are_checked(change: dict[str, Any], says: str) -> None:
    contact = {"nodes": [0], "weights": [1.0], "E": np.eye(3), "mu": 0.5, "uf": [0, 0, 0]}
    contact.update({k: change.pop(k) for k in list(change) if k in contact})
    solve = {k: change.pop(k) for k in list(change) if k in ("tolerance", "method", "r0", "v0", "max_sweeps")}
    given: dict[str, Any] = {"A": np.eye(3), "b": [0.0, 0, 1], "contacts": [contact], **change}
    with pytest.raises((ValueError, TypeError), match=says):
        muslin.FrictionProblem(**given).solve(**solve)


@pytest.mark.parametrize(
    ("scene", "kind", "says"),
    [
        ({"cloth": {"a": {"fabric": None}}}, TypeError, r"`cloth.a.fabric` is NoneType"),
        ({1: 2}, TypeError, "must be text"),
        ({"gravity": [0, 0, NAN]}, muslin.SceneError, "not a usable number"),
        ({"gravity": [0, 0, 2**70]}, ValueError, "too large"),
        ({"gravty": [0, 0, 0]}, muslin.SceneError, "did you mean `gravity`"),
        ({"output": {"frames": "ten"}}, muslin.SceneError, "output.frames"),
        ({"gravity": object()}, TypeError, "`gravity` is object"),
    ],
)
def test_scenes_are_checked(scene: Any, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        muslin.Simulation(scene)


def test_a_scene_that_contains_itself_is_refused() -> None:
    scene: dict[str, Any] = {}
    scene["cloth"] = scene
    with pytest.raises(ValueError, match="nested"):
        muslin.Simulation(scene)


@pytest.mark.parametrize(
    ("V", "F", "texture", "says"),
    [
        ([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]], None, "no triangles with an area"),
        (MESH, np.zeros((0, 3), int), None, "no triangles"),
        (MESH, FACE, [[0, 0], [0, 0], [0, 0]], "no area in texture"),
    ],
)
def test_surfaces_are_checked(V: Any, F: Any, texture: Any, says: str) -> None:
    scene = muslin.Scene()
    scene.add_cloth("a", V, F, texture=texture, fabric="paper")
    with pytest.raises(muslin.SceneError, match=says):
        muslin.Simulation(scene)


def test_surfaces_are_checked_before_the_engine_sees_them() -> None:
    scene = muslin.Scene()
    with pytest.raises(ValueError, match=r"F\[0, 2\] is 7"):
        scene.add_cloth("a", MESH, [[0, 1, 7]], fabric="paper")
    with pytest.raises(ValueError, match="texture has shape"):
        scene.add_cloth("a", MESH, FACE, texture=[[0, 0]], fabric="paper")
    with pytest.raises(TypeError, match="both"):
        scene.add_obstacle("a", MESH)
    # A dict may say the same; then the engine has to notice.
    surface = {"positions": MESH, "faces": [[0, 1, 7]]}
    with pytest.raises(muslin.SceneError, match="does not exist") as caught:
        muslin.Simulation({"cloth": {"a": {"fabric": "paper", "surface": surface}}})
    assert caught.value.key == "cloth.a.surface.faces.0" and caught.value.file is None
