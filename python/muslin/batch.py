"""Many simulations at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from ._arrays import count
from .simulation import Simulation

__all__ = ["run_many"]


def run_many(
    simulations: Iterable[Simulation], frames: int | None = None, *, threads: int = 0
) -> None:
    """Runs independent simulations side by side in this process.

    Each gives the same bits as if it ran alone. Make small simulations with ``threads=1``, so that every thread here keeps
    one core busy. Ctrl-C, or an error in one, ends all after the step under way.

    Args:
        simulations: The simulations, each different.
        frames: Frames each goes on by; by default as many as its scene still asks for.
        threads: Simulations at work at a time; 0 for as many as there are cores.

    Example:
        >>> import muslin
        >>> sims = [muslin.Simulation("hanging_cloth", set={"gravity": [0, 0, -g]}) for g in (1.6, 9.8)]
        >>> muslin.run_many(sims, 1, threads=2)
        >>> [sim.frame for sim in sims]
        [1, 1]
    """
    sims = list(simulations)
    for sim in sims:
        if not isinstance(sim, Simulation):
            raise TypeError(f"run_many takes simulations, not {type(sim).__name__}")
    if len({id(sim) for sim in sims}) != len(sims):
        raise ValueError("a simulation is in the list twice; use clones")
    more = None if frames is None else count("frames", frames)
    workers = count("threads", threads) or os.cpu_count() or 1
    stop = threading.Event()

    def work(sim: Simulation) -> None:
        end = sim.frames if more is None else sim.frame + more
        engine = sim._engine
        try:
            while engine.progress()[2] < end and not stop.is_set():
                engine.step()
        finally:
            engine.summarise()

    with ThreadPoolExecutor(max_workers=workers) as pool:
        jobs = [pool.submit(work, sim) for sim in sims]
        try:
            wait(jobs, return_when=FIRST_EXCEPTION)
        finally:
            # Those that have not begun are not; those at work finish their step.
            failed = any(job.done() and not job.cancelled() and job.exception() for job in jobs)
            if failed or not all(job.done() for job in jobs):
                stop.set()
                for job in jobs:
                    job.cancel()
    for job in jobs:
        if not job.cancelled():
            job.result()
