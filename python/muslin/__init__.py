"""Muslin: cloth with exact Coulomb friction, on NumPy arrays, in SI units.

>>> import muslin
>>> sim = muslin.Simulation("hanging_cloth")
>>> sim.run(3, progress=False)
>>> sim.positions("sheet").shape[1]
3
"""

from . import _engine, ccd, distance
from .batch import run_many
from .errors import RecordError, SceneError, StepError
from .friction import FrictionMethod, FrictionProblem, FrictionSolution
from .geometry import intersections
from .results import Contacts, Picture, Pose, StepReport
from .scene import Scene
from .simulation import Simulation
from .viewing import Viewer, view

__all__ = [
    "Contacts",
    "FrictionMethod",
    "FrictionProblem",
    "FrictionSolution",
    "Picture",
    "Pose",
    "RecordError",
    "Scene",
    "SceneError",
    "Simulation",
    "StepError",
    "StepReport",
    "Viewer",
    "ccd",
    "distance",
    "fabrics",
    "intersections",
    "run_many",
    "scenes",
    "view",
]

__version__ = _engine.version()


def scenes() -> dict[str, str]:
    """Scenes that come with Muslin, with a line about each.

    Example:
        >>> import muslin
        >>> "hanging_cloth" in muslin.scenes()
        True
    """
    return dict(_engine.scenes())


def fabrics() -> list[str]:
    """Names of the fabrics that come with Muslin.

    Example:
        >>> import muslin
        >>> "paper" in muslin.fabrics()
        True
    """
    return _engine.fabrics()
