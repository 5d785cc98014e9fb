"""Friction problems, collision queries, intersections and distances against reference data and brute force."""

from __future__ import annotations

import csv
import json
from typing import Any

import muslin
import numpy as np
import pytest
import scipy.sparse
from conftest import ROOT

DFCP = json.loads((ROOT / "reference" / "dfcp.json").read_text())["problems"]


def matrix(problem: dict[str, Any]) -> scipy.sparse.csr_matrix:
    entries, n = problem["A"], 3 * problem["n_nodes"]
    upper = scipy.sparse.coo_matrix((entries["v"], (entries["i"], entries["j"])), shape=(n, n)).tocsr()
    return upper + scipy.sparse.triu(upper, 1).T


def answers(problem: dict[str, Any]) -> list[Any]:
    others = [other["v"] for other in problem.get("alternatives") or []]
    return [np.array(v) for v in [problem["solution"]["v"], *others]]


@pytest.mark.parametrize("problem", DFCP, ids=[p["name"] for p in DFCP])
def test_reference_problems(problem: dict[str, Any]) -> None:
    A = matrix(problem)
    solution = muslin.FrictionProblem(A, problem["b"], problem["contacts"]).solve(1e-11)
    assert solution.converged and solution.residual < 1e-11
    assert max(solution.contact_error, solution.dynamics_error) < 1e-9
    distance = min(abs(solution.v - v).max() for v in answers(problem))
    assert distance < 1e-9
    assert solution.iterations > 0 and solution.method
    # The answer obeys the equations, checked here without the engine.
    J = np.zeros((3 * len(problem["contacts"]), A.shape[0]))
    for c, contact in enumerate(problem["contacts"]):
        E = np.reshape(contact["E"], (3, 3))
        for node, w in zip(contact["nodes"], contact["weights"]):
            J[3 * c : 3 * c + 3, 3 * node : 3 * node + 3] += w * E
    uf = np.array([c["uf"] for c in problem["contacts"]]).ravel()
    assert J @ solution.v + uf == pytest.approx(solution.u.ravel(), abs=1e-12)
    scale = A.diagonal().max()
    assert abs(A @ solution.v + problem["b"] - J.T @ solution.r.ravel()).max() < 1e-9 * scale
    mu = np.array([c["mu"] for c in problem["contacts"]])
    pressing = np.linalg.norm(solution.r[:, 1:], axis=1) <= mu * solution.r[:, 0] * (1 + 1e-9) + 1e-15
    assert pressing.all() and (solution.u[:, 0] > -1e-10).all()
    if problem["unique_expected"]:
        assert list(solution.states) == problem["solution"]["states"]


def test_arrays_sparse_and_dense_are_the_same_problem() -> None:
    problem = next(p for p in DFCP if any(len(c["nodes"]) > 1 for c in p["contacts"]))
    A, b, contacts = matrix(problem), np.array(problem["b"]), problem["contacts"]
    nodes = np.full((len(contacts), 4), -1)
    weights = np.zeros((len(contacts), 4))
    for c, contact in enumerate(contacts):
        k = len(contact["nodes"])
        nodes[c, :k], weights[c, :k] = contact["nodes"], contact["weights"]
    arrays = {
        "nodes": nodes,
        "weights": weights,
        "E": np.array([c["E"] for c in contacts]).reshape(-1, 3, 3),
        "mu": np.array([c["mu"] for c in contacts]),
        "uf": np.array([c["uf"] for c in contacts]),
    }
    expected = muslin.FrictionProblem(A, b, contacts).solve(1e-10)
    variants = [
        muslin.FrictionProblem(A.tocsc(), b, arrays),
        muslin.FrictionProblem(A.toarray(), b, contacts),
        muslin.FrictionProblem(scipy.sparse.bsr_array(A, blocksize=(3, 3)), b.reshape(-1, 3), arrays),
    ]
    for variant in variants:
        found = variant.solve(1e-10, threads=2)
        assert (found.v.ravel() == expected.v).all() and (found.r == expected.r).all()
    assert found.v.shape == (problem["n_nodes"], 3)


def test_a_start_near_the_answer_is_used_and_budgets_hold() -> None:
    problem = max(DFCP, key=lambda p: len(p["contacts"]))
    given = muslin.FrictionProblem(matrix(problem), problem["b"], problem["contacts"])
    first = given.solve(1e-10)
    again = given.solve(1e-8, v0=first.v, r0=first.r)
    assert again.converged and again.iterations <= 1
    short = given.solve(1e-14, method="gauss-seidel", max_sweeps=2)
    assert not short.converged and short.residual > 1e-14


def queries(kind: str) -> tuple[Any, Any, list[dict[str, str]]]:
    with open(ROOT / "reference" / "ccd_queries.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] == kind]
    ends = [
        np.array([[[float(row[f"p{k}{end}{axis}"]) for axis in "xyz"] for k in range(4)] for row in rows])
        for end in (0, 1)
    ]
    return ends[0], ends[1], rows


@pytest.mark.parametrize("kind", ["vf", "ee"])
def test_reference_queries(kind: str) -> None:
    x0, x1, rows = queries(kind)
    detect = muslin.ccd.vertex_face if kind == "vf" else muslin.ccd.edge_edge
    times = detect(x0, x1)
    assert len(rows) > 300
    for t, row in zip(times, rows):
        if row["hit"] == "1":
            first = float(row["toi"])
            assert t <= first or np.isnan(first), row["id"]
            assert 0 <= t <= 1
        elif np.isfinite(t):
            assert float(row["dist_min_approx"]) < 3e-6, row["id"]
    assert (detect(x0, x1, threads=2) == times).all()


def test_a_wider_separation_is_reached_earlier() -> None:
    x0 = np.array([[[0.2, 0.2, 1.0], [0, 0, 0], [1, 0, 0], [0, 1, 0]]])
    x1 = x0.copy()
    x1[0, 0, 2] = -1
    near, far = (muslin.ccd.vertex_face(x0, x1, separation=s)[0] for s in (1e-6, 0.1))
    assert near == pytest.approx(0.5, abs=1e-5) and far == pytest.approx(0.45, abs=0.06) and far < near


def sphere(n: int, radius: float) -> tuple[Any, Any]:
    theta, phi = np.meshgrid(np.linspace(0.1, 3.04, n), np.linspace(0, 2 * np.pi, n, endpoint=False), indexing="ij")
    V = radius * np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], -1)
    i, j = np.meshgrid(np.arange(n - 1), np.arange(n), indexing="ij")
    a, b = i * n + j, i * n + (j + 1) % n
    F = np.concatenate([np.stack([a, a + n, b], -1), np.stack([b, a + n, b + n], -1)]).reshape(-1, 3)
    return V.reshape(-1, 3), F


def test_intersections() -> None:
    V, F = sphere(20, 1.0)
    assert muslin.intersections(V, F).shape == (0, 2)
    W, G = sphere(15, 1.0)
    W = W + [0.5, 0, 0]
    between = muslin.intersections(V, F, W, G, threads=2)
    both = muslin.intersections(np.concatenate([V, W]), np.concatenate([F, G + len(V)]))
    assert len(between) > 10 and between.dtype == np.int32
    assert (between + [0, len(F)] == both).all()
    assert len(muslin.intersections(V, F, W + 10, G)) == 0


def test_distances() -> None:
    rng = np.random.default_rng(3)
    points, corners = rng.normal(size=(200, 3)), rng.normal(size=(200, 3, 3))
    d, w = muslin.distance.point_triangle(points, corners, threads=2)
    nearest = (w[:, :, None] * corners).sum(axis=1)
    assert np.linalg.norm(points - nearest, axis=1) == pytest.approx(d, abs=1e-12)
    grid = np.array([(a, b, 40 - a - b) for a in range(41) for b in range(41 - a)]) / 40
    sampled = np.linalg.norm(points[:, None] - grid @ corners, axis=2).min(axis=1)
    assert (d <= sampled + 1e-12).all() and (sampled - d).max() < 0.2
    first, second = rng.normal(size=(200, 2, 3)), rng.normal(size=(200, 2, 3))
    d, s = muslin.distance.edge_edge(first, second)
    on = [e[:, 0] + s[:, k, None] * (e[:, 1] - e[:, 0]) for k, e in enumerate((first, second))]
    assert np.linalg.norm(on[0] - on[1], axis=1) == pytest.approx(d, abs=1e-12)


def test_distance_to_a_surface() -> None:
    V, F = sphere(40, 1.0)
    rng = np.random.default_rng(4)
    points = rng.normal(size=(100, 3))
    points[:, 2] *= 0.2  # away from the open poles
    found = muslin.distance.to_surface(points, V, F, threads=2)
    assert found.distance == pytest.approx(np.linalg.norm(points, axis=1) - 1, abs=0.02)
    assert np.linalg.norm(points - found.position, axis=1) == pytest.approx(abs(found.distance), abs=1e-12)
    centres = V[F[found.face]].mean(axis=1)
    assert np.linalg.norm(centres - found.position, axis=1).max() < 0.3
