"""The browser viewer."""

from __future__ import annotations

import os
import webbrowser
from types import TracebackType

from . import _engine
from ._arrays import count

__all__ = ["Viewer", "view"]


class Viewer:
    """A viewer that is being served until it is closed; made by :func:`view`.

    Example:
        >>> import muslin
        >>> with muslin.view("hanging_cloth", open_browser=False) as viewer:
        ...     print(viewer.url.split(":")[0])
        http
    """

    def __init__(self, engine: _engine.Viewer) -> None:
        self._engine = engine

    @property
    def url(self) -> str:
        """Where the page is; on this machine only.

        Example:
            >>> import muslin
            >>> with muslin.view("hanging_cloth", open_browser=False) as viewer:
            ...     viewer.url.startswith("http://127.0.0.1:")
            True
        """
        return self._engine.url

    def close(self) -> None:
        """Ends it; closing twice does no harm.

        Example:
            >>> import muslin
            >>> muslin.view("hanging_cloth", open_browser=False).close()
        """
        self._engine.close()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<muslin.Viewer at {self.url}>"


def view(
    *what: str | os.PathLike[str], open_browser: bool = True, port: int = 0, threads: int = 1
) -> Viewer:
    """Opens the viewer on run folders, or on scenes, which then run live.

    Args:
        what: Run folders, finished or growing; scene files, or names of scenes.
        open_browser: Whether to open the page in a browser.
        port: Port on this machine; 0 for any that is free.
        threads: Threads of live simulations.

    Returns:
        The viewer; it is served until it is closed or Python ends.

    Example:
        >>> import muslin
        >>> viewer = muslin.view("hanging_cloth", open_browser=False)
        >>> viewer.close()
    """
    if not what:
        raise TypeError("there is nothing to view; give a run folder or a scene")
    place = count("port", port)
    if place > 65535:
        raise ValueError(f"port is {port}; it must be from 0 to 65535")
    names = [os.fspath(one) for one in what]
    viewer = Viewer(_engine.Viewer(names, place, count("threads", threads)))
    if open_browser:
        webbrowser.open(viewer.url)
    return viewer
