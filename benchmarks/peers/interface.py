"""What every implementation is asked, and how it answers."""

import importlib
import importlib.metadata
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple


class Run(NamedTuple):
    """A Poisson-subsampled Gaussian that runs `count` times."""

    noise_multiplier: float
    sampling_probability: float
    count: int


class Answer(NamedTuple):
    """Bounds and estimate of an epsilon (nats) or delta; nan is what a peer does not tell."""

    lower: float
    estimate: float
    upper: float


class Peer:
    """One implementation.

    Attributes
    ----------
    name : str
        In legends and tables.
    module : str
        What has to be importable.
    distribution : str
        What has to be installed.
    promise : {"both", "upper", "none"}
        Which sides of its answers are bounds.
    directions : {"add-or-remove", "remove"}
        Which neighbouring relation is answered for.
    ladder : sequence of dict
        Settings from coarse to fine, for `epsilon` and `delta`.
    """

    name: ClassVar[str]
    module: ClassVar[str]
    distribution: ClassVar[str]
    promise: ClassVar[str]
    directions: ClassVar[str]
    ladder: ClassVar[Sequence[Mapping[str, Any]]] = ({},)

    def epsilon(self, runs: Sequence[Run], delta: float, **settings: Any) -> Answer:
        """Ask for the epsilon at `delta` of the composition of all `runs`."""
        raise NotImplementedError(f"{self.name} does not answer for epsilon")

    def delta(self, runs: Sequence[Run], epsilon: float, **settings: Any) -> Answer:
        """Ask for the delta at `epsilon`."""
        raise NotImplementedError(f"{self.name} does not answer for delta")

    def load(self) -> None:
        """Import what the first question would import."""
        importlib.import_module(self.module)

    @cached_property
    def missing(self) -> str:
        """Why it cannot be asked here; empty if it can."""
        try:
            self.load()
        except Exception as error:  # a package that fails at import is as good as none
            return f"{type(error).__name__}: {error}"
        return ""

    @property
    def version(self) -> str:
        """Of the installed distribution."""
        return importlib.metadata.version(self.distribution)


def upper_only(value: float) -> Answer:
    """Answer of a peer that has an upper bound and nothing else."""
    return Answer(math.nan, math.nan, float(value))


def estimate_only(value: float) -> Answer:
    """Answer of a peer that promises nothing."""
    return Answer(math.nan, float(value), math.nan)


def settings(name: str, *values: float) -> list[dict[str, float]]:
    """Return a ladder of one setting."""
    return [{name: value} for value in values]
