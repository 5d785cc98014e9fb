"""What can go wrong, with the messages of the command line."""

from __future__ import annotations

__all__ = ["RecordError", "SceneError", "StepError"]


class SceneError(ValueError):
    """A mistake in a scene, told so that a person can mend it.

    ``str(error)`` is what ``muslin run`` prints. The parts of it are attributes.

    Example:
        >>> import muslin
        >>> try:
        ...     muslin.Simulation("hanging_cloth", set={"cloth.sheet.fabric": "papr"})
        ... except muslin.SceneError as error:
        ...     print(error.key, "|", error.remedy)
        cloth.sheet.fabric | did you mean `paper`? (the value came from --set cloth.sheet.fabric)
    """

    file: str | None
    """The file with the mistake, if it is in a file."""
    line: int | None
    """Line in that file, from 1."""
    column: int | None
    """Column in that line, from 1."""
    key: str
    """Dotted path of the key; empty if it is about none."""
    problem: str
    """What is wrong."""
    remedy: str
    """What to do."""

    def __init__(
        self,
        message: str,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        key: str = "",
        problem: str = "",
        remedy: str = "",
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.column = column
        self.key = key
        self.problem = problem or message
        self.remedy = remedy


class StepError(RuntimeError):
    """A step that cannot go on; the state is that of the step before it.

    Example:
        >>> import muslin
        >>> issubclass(muslin.StepError, RuntimeError)
        True
    """


class RecordError(OSError):
    """A recording or a saved simulation that cannot be written or read.

    Example:
        >>> import muslin
        >>> try:
        ...     muslin.Simulation.from_saved("nowhere.npz")
        ... except muslin.RecordError as error:
        ...     print(str(error).split(":")[0])
        nowhere.npz
    """
