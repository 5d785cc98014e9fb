"""Frictional contact with the exact Coulomb cone, on your own matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _engine
from ._arrays import Floats, Ints, as_array, count, floats, indices, number

__all__ = ["FrictionMethod", "FrictionProblem", "FrictionSolution"]

FrictionMethod: TypeAlias = Literal[
    "auto", "gauss-seidel", "admm", "newton", "condensed"
]
"""How a friction problem is solved; `auto` chooses, and changes its mind when a method stalls."""

_STATES = np.array(["takeoff", "stick", "slide"])
_KEYS = ("nodes", "weights", "E", "mu", "uf")


@dataclass(frozen=True)
class FrictionSolution:
    """What a solve reached; made by :meth:`FrictionProblem.solve`.

    Example:
        >>> import numpy as np, muslin
        >>> problem = muslin.FrictionProblem(np.eye(3), [0, 0, 1.0], [])
        >>> problem.solve().v + 0.0
        array([ 0.,  0., -1.])
    """

    v: Floats
    """Velocities, m/s, in the shape of `b`."""
    u: Floats
    """(M, 3) relative velocities in the frames of the contacts (normal, tangents), m/s."""
    r: Floats
    """(M, 3) impulses in the frames of the contacts, N s."""
    states: npt.NDArray[np.str_]
    """(M,) what each contact does: `takeoff`, `stick` or `slide`."""
    residual: float
    """What had to fall below the tolerance, m/s."""
    iterations: int
    """Iterations of all methods that took part."""
    converged: bool
    """Whether the tolerance was met. If not, this is the best point found, not an error."""
    contact_error: float
    """Largest error of the law of contact, m/s."""
    dynamics_error: float
    """Largest error of momentum over inertia, m/s."""
    factorisations: int
    """Numeric factorisations."""
    method: str
    """The way taken."""
    yielding: Ints
    """Contacts that contradict each other and had to give way."""


def _triplets(A: Any) -> tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64], Floats]:
    """Rows of a matrix, and its entries, from a SciPy sparse matrix or a dense array."""
    if hasattr(A, "tocoo"):
        coo = A.tocoo()
        shape, values = coo.shape, coo.data
        i, j = coo.row, coo.col
    else:
        dense = np.asarray(A)
        shape = dense.shape
        if len(shape) != 2:
            raise ValueError(f"A has shape {shape}, but (3n, 3n) is needed")
        i, j = np.nonzero(dense)
        values = dense[i, j]
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] % 3:
        raise ValueError(f"A has shape {tuple(shape)}, but (3n, 3n) is needed")
    entries = floats("A", values, (None,))
    rows = np.ascontiguousarray(i, dtype=np.int64)
    columns = np.ascontiguousarray(j, dtype=np.int64)
    return int(shape[0]), rows, columns, entries


def _one_contact(c: int, contact: Mapping[str, Any]) -> tuple[Any, ...]:
    if not isinstance(contact, Mapping):
        raise TypeError(f"contact {c} must be a dict with {', '.join(_KEYS)}, not {type(contact).__name__}")
    missing = [k for k in _KEYS if k not in contact]
    if missing:
        raise ValueError(f"contact {c} has no `{missing[0]}`; it needs {', '.join(_KEYS)}")
    nodes = np.asarray(contact["nodes"]).reshape(-1)
    weights = np.asarray(contact["weights"]).reshape(-1)
    if not 1 <= len(nodes) <= 4 or len(nodes) != len(weights):
        raise ValueError(f"contact {c} has {len(nodes)} nodes and {len(weights)} weights; 1 to 4 of each are needed")
    spare = 4 - len(nodes)
    frame = np.asarray(contact["E"])
    if frame.size != 9:
        raise ValueError(f"E of contact {c} has shape {frame.shape}, but (3, 3) is needed")
    mu = as_array(f"mu of contact {c}", contact["mu"])
    if mu.shape not in ((), (1,), (2,)):
        raise ValueError(f"mu of contact {c} has shape {mu.shape}, but one coefficient or two are needed")
    uf = as_array(f"uf of contact {c}", contact["uf"])
    if uf.shape != (3,):
        raise ValueError(f"uf of contact {c} has shape {uf.shape}, but (3,) is needed")
    return (
        np.concatenate([nodes, np.full(spare, -1, dtype=np.int64)]),
        np.concatenate([weights, np.zeros(spare)]),
        frame.reshape(3, 3),
        np.broadcast_to(mu, (2,)),
        uf,
    )


def _contact_arrays(
    contacts: Sequence[Mapping[str, Any]] | Mapping[str, npt.ArrayLike], n: int
) -> tuple[Ints, Floats, Floats, Floats, Floats]:
    if isinstance(contacts, Mapping):
        missing = [k for k in _KEYS if k not in contacts]
        if missing:
            raise ValueError(f"the contacts have no `{missing[0]}`; they need {', '.join(_KEYS)}")
        nodes, weights, frames, mu, uf = (contacts[k] for k in _KEYS)
        if np.ndim(mu) == 1:
            mu = np.repeat(np.asarray(mu)[:, None], 2, axis=1)
    elif isinstance(contacts, str) or not isinstance(contacts, Sequence):
        raise TypeError(f"contacts must be a list of dicts or a dict of arrays, not {type(contacts).__name__}")
    elif len(contacts) == 0:
        nodes, weights = np.zeros((0, 4), np.int32), np.zeros((0, 4))
        frames, mu, uf = np.zeros((0, 3, 3)), np.zeros((0, 2)), np.zeros((0, 3))
    else:
        rows = [_one_contact(c, contact) for c, contact in enumerate(contacts)]
        nodes, weights, frames, mu, uf = (list(column) for column in zip(*rows))
    return (
        indices("nodes", nodes, (None, 4), -1, max(n, 1)),
        floats("weights", weights, (None, 4)),
        floats("E", frames, (None, 3, 3)),
        floats("mu", mu, (None, 2)),
        floats("uf", uf, (None, 3)),
    )


class FrictionProblem:
    """Velocities and impulses with ``A v + b = Jᵀ r`` and Coulomb's law at every contact.

    The relative velocity of a contact is ``u = Σ weights[k] E v[nodes[k]] + uf``; between `u` and the impulse `r` holds the
    exact law of Signorini and Coulomb.

    Args:
        A: Symmetric positive definite matrix of 3n rows, kg: a SciPy sparse matrix, or a dense array.
        b: (3n,) or (n, 3), minus the momentum without contact, kg m/s.
        contacts: A list of dicts with `nodes` (1 to 4), `weights`, `E` (3, 3) with rows normal and tangents, `mu` (one
            coefficient, or two along the tangents) and `uf` (3), m/s; or one dict of arrays: `nodes` (M, 4) with -1 in
            unused places, `weights` (M, 4), `E` (M, 3, 3), `mu` (M,) or (M, 2), `uf` (M, 3).
        free: (n, 3) truth values: coordinates that may move; the others need a diagonal row in `A`.
        inertia: (n,) masses with which errors are measured, kg; the default is the diagonal of `A`.

    Example:
        A mass of 1 kg that slides down at 1 m/s and is pressed on the floor with 1 N s:

        >>> import numpy as np, muslin
        >>> contact = {"nodes": [0], "weights": [1.0], "E": np.eye(3), "mu": 0.3, "uf": [0, 0, 0]}
        >>> problem = muslin.FrictionProblem(np.eye(3), [1.0, -1.0, 0.0], [contact])
        >>> solution = problem.solve(tolerance=1e-12)
        >>> print(solution.states, solution.v.round(6) + 0, solution.r.round(6) + 0)
        ['slide'] [0.  0.7 0. ] [[ 1.  -0.3  0. ]]
    """

    def __init__(
        self,
        A: Any,
        b: npt.ArrayLike,
        contacts: Sequence[Mapping[str, Any]] | Mapping[str, npt.ArrayLike],
        *,
        free: npt.ArrayLike | None = None,
        inertia: npt.ArrayLike | None = None,
    ) -> None:
        size, rows, columns, values = _triplets(A)
        n = size // 3
        self._shape = as_array("b", b).shape
        if self._shape not in ((size,), (n, 3)):
            raise ValueError(f"b has shape {self._shape}, but ({size},) or ({n}, 3) is needed")
        momentum = floats("b", np.reshape(b, (n, 3)), (n, 3))
        self._nodes = n
        arrays = _contact_arrays(contacts, n)
        self._contacts = len(arrays[0])
        movable = np.zeros((0, 3), np.uint8)
        if free is not None:
            given = np.asarray(free)
            if given.dtype != np.bool_ or given.shape != (n, 3):
                raise ValueError(f"free has dtype {given.dtype} and shape {given.shape}, but bool ({n}, 3) is needed")
            movable = np.ascontiguousarray(given, dtype=np.uint8)
            held = ~given.reshape(-1)
            coupled = (held[rows] | held[columns]) & (rows != columns) & (values != 0)
            if coupled.any():
                entry = int(np.argmax(coupled))
                raise ValueError(
                    f"A[{rows[entry]}, {columns[entry]}] couples a coordinate that is not free; "
                    "its row and column may have a diagonal entry only"
                )
        masses = np.zeros(0) if inertia is None else floats("inertia", inertia, (n,))
        self._engine = _engine.FrictionProblem(
            (rows, columns, values), momentum, *arrays, movable, masses
        )

    def solve(
        self,
        tolerance: float = 1e-6,
        *,
        method: FrictionMethod = "auto",
        v0: npt.ArrayLike | None = None,
        r0: npt.ArrayLike | None = None,
        max_sweeps: int = 1000,
        max_factorisations: int = 100,
        max_admm_iterations: int = 800,
        threads: int = 1,
    ) -> FrictionSolution:
        """Solves the problem; missing the tolerance is told in the solution, not raised.

        Args:
            tolerance: Largest error, m/s.
            method: How; the default chooses.
            v0: Velocities to start from, in the shape of `b`, m/s; the default is rest.
            r0: (M, 3) impulses to start from, N s; the default is none.
            max_sweeps: Budget of Gauss-Seidel sweeps.
            max_factorisations: Budget of Newton's factorisations.
            max_admm_iterations: Budget of splitting iterations.
            threads: Threads to use; 0 for all cores. The bits do not depend on it.

        Example:
            >>> import numpy as np, muslin
            >>> contact = {"nodes": [0], "weights": [1.0], "E": np.eye(3), "mu": 2.0, "uf": [0, 0, 0]}
            >>> problem = muslin.FrictionProblem(np.eye(3), [1.0, -1.0, 0.0], [contact])
            >>> print(problem.solve(1e-12).states)
            ['stick']
        """
        n, m = self._nodes, self._contacts
        v = np.zeros((n, 3)) if v0 is None else floats("v0", np.reshape(v0, (-1, 3)), (n, 3))
        r = np.zeros((m, 3)) if r0 is None else floats("r0", r0, (m, 3))
        budget = (
            count("max_sweeps", max_sweeps),
            count("max_factorisations", max_factorisations),
            count("max_admm_iterations", max_admm_iterations),
        )
        v, u, r, states, told = self._engine.solve(
            (v, r), number("tolerance", tolerance), method, budget, count("threads", threads)
        )
        converged, errors, counts, way, yielding = told
        return FrictionSolution(
            v=v.reshape(self._shape),
            u=u,
            r=r,
            states=_STATES[states],
            residual=errors[0],
            iterations=sum(counts[:-1]),
            converged=converged,
            contact_error=errors[1],
            dynamics_error=errors[2],
            factorisations=counts[-1],
            method=way,
            yielding=np.array(yielding, dtype=np.int32),
        )
