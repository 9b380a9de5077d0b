"""Composed steps as a value: it compares, adds, pickles and prints. `PrivacyCurve` has bounds."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

from prvcore import _arguments, _pickling
from prvcore._core.composition import Composition
from prvcore._core.mechanism import Handle
from prvcore._settings import Discretization, Engine, Neighbors, Settings
from prvcore._steps import Steps, merged, refuse_mixed_groups
from prvcore.mechanisms.base import Mechanism
from prvcore.mechanisms.composed import Composed

__all__ = ["ComposedSteps"]


class ComposedSteps:
    """Mechanisms with their counts, and the options of `compose`; immutable."""

    __slots__ = ("_composition", "_settings", "_steps")

    if TYPE_CHECKING:  # whoever evaluates the class's annotations finds public names alone
        _steps: Steps
        _settings: Settings
        _composition: Composition

    def __init__(
        self,
        steps: Iterable[tuple[Mechanism, int]],
        *,
        eps_error: float | None = None,
        delta_error: float | None = None,
        neighbors: Neighbors = "add-or-remove",
        discretization: Discretization = "bracketing",
        engine: Engine = "auto",
        mesh_size: float | None = None,
        delta_relative_error: float = 1e-3,
    ) -> None:
        set_ = object.__setattr__
        settings = Settings(
            eps_error=eps_error,
            delta_error=delta_error,
            neighbors=neighbors,
            discretization=discretization,
            engine=engine,
            mesh_size=mesh_size,
            delta_relative_error=delta_relative_error,
        )
        set_(self, "_settings", settings)
        set_(self, "_steps", merged(steps))
        # at once, so that what the C core refuses is refused here and not at the first query
        handles = tuple(mechanism._build(self.neighbors) for mechanism, _ in self._steps)
        refuse_mixed_groups(mechanism for mechanism, count in self._steps if count)
        set_(self, "_composition", Composition(handles, self.counts))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be deleted")

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Distinct mechanisms, in an order that does not depend on the order given."""
        return tuple(mechanism for mechanism, _ in self._steps)

    @property
    def counts(self) -> tuple[int, ...]:
        """How often each of the mechanisms runs."""
        return tuple(count for _, count in self._steps)

    def as_mechanism(self) -> Composed:
        """Return the composition as one mechanism, of which there may be a sample or an allocation.

        Returns
        -------
        Composed
            All of its steps on the same records. Its pair is enclosed between two others anew, as
            finely as each question needs, so that bounds of whatever it becomes a part of hold.
            Options, such as `neighbors`, are those of the composition that it is put into.

        Examples
        --------
        >>> import prvcore as prv
        >>> query = prv.compose([prv.Laplace(2.0), prv.Gaussian(3.0)]).as_mechanism()
        >>> sampled = prv.compose(prv.PoissonSubsampled(query, 0.1), 10)
        >>> sampled.epsilon(1e-5).upper < prv.compose(query, 10).epsilon(1e-5).lower
        True

        """
        return Composed(self._steps)

    @property
    def attained(self) -> bool:
        """Whether bounds of epsilon and delta can come as close as asked.

        They can if two data sets have the pair of output distributions that dominates the
        composition, or, for each value of its curve, two data sets have this value. No data sets
        are known to have that pair for a `BoundedRange` or a `SubsampledWithoutReplacement` that
        runs more than once or with other mechanisms, for a `TruncatedPoissonSubsampledGaussian`,
        for a `RandomAllocation` to some of the batches, and, if records are replaced, for a
        `PoissonSubsampled` of all but Gaussian noise, and one guarantee that runs once. Then
        `lower` belongs to data sets that exist, `upper` holds for all data sets, and the true value
        between the two is not known.
        """
        return self._composition.attained(self._settings.neighbors)

    @property
    def neighbors(self) -> Neighbors:
        """As given to `compose`."""
        return self._settings.neighbors

    @property
    def discretization(self) -> Discretization:
        """As given to `compose`."""
        return self._settings.discretization

    @property
    def engine(self) -> Engine:
        """As given to `compose`."""
        return self._settings.engine

    @property
    def eps_error(self) -> float | None:
        """As given to `compose`; None is the default."""
        return self._settings.eps_error

    @property
    def delta_error(self) -> float | None:
        """As given to `compose`; None is the default."""
        return self._settings.delta_error

    @property
    def mesh_size(self) -> float | None:
        """As given to `compose`; None is the default."""
        return self._settings.mesh_size

    @property
    def delta_relative_error(self) -> float:
        """As given to `compose`."""
        return self._settings.delta_relative_error

    def _with(self, steps: Iterable[tuple[Mechanism, int]], **changes: Any) -> Self:
        """Return the curve of other steps under the same settings, but for the changes."""
        return type(self)(steps, **{**self._settings.as_dict(), **changes})

    def _of_history(self, steps: Steps, handles: tuple[Handle, ...]) -> Self:
        """Return the curve of steps in their own order, under the same settings."""
        curve = object.__new__(type(self))
        set_ = object.__setattr__
        set_(curve, "_settings", self._settings)
        set_(curve, "_steps", steps)
        set_(curve, "_composition", Composition(handles, curve.counts))
        return curve

    def __add__(self, other: object) -> Self:
        """Compose with what another curve of the same settings composes."""
        if not isinstance(other, ComposedSteps):
            return NotImplemented
        mine, others = self._settings.as_dict(), other._settings.as_dict()
        for name, value in mine.items():
            if value != others[name]:
                raise ValueError(
                    f"curves that are added must have the same settings, got {name}={value!r} and "
                    f"{name}={others[name]!r}"
                )
        return self._with(self._steps + other._steps)

    def __mul__(self, times: object) -> Self:
        """Compose with itself, `times` (an integer >= 0) in all."""
        if isinstance(times, bool) or not isinstance(times, Integral):
            return NotImplemented
        if times < 0:
            raise ValueError(f"a curve is multiplied by integers >= 0, got {times!r}")
        steps = tuple((mechanism, count * int(times)) for mechanism, count in self._steps)
        _arguments.total_count([count for _, count in steps])
        return self._with(steps)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ComposedSteps):
            return NotImplemented
        return (self._steps, self._settings) == (other._steps, other._settings)

    def __hash__(self) -> int:
        return hash((self._steps, self._settings))

    def __reduce__(self) -> tuple[Any, ...]:
        settings = self._settings.as_dict()
        return _pickling.restored, (_pickling.VERSION, type(self), (self._steps,), settings)

    def __repr__(self) -> str:
        steps = ", ".join(f"({mechanism!r}, {count})" for mechanism, count in self._steps)
        unattained = "" if self.attained else ", attained=False"
        return f"PrivacyCurve([{steps}], {self._settings.assumed()}{unattained})"

    def _repr_html_(self) -> str:
        from html import escape  # for notebooks alone

        rows = "".join(
            f"<tr><td>{escape(repr(mechanism))}</td><td>{count:,}</td></tr>"
            for mechanism, count in self._steps
        )
        settings = [f"neighbors {self.neighbors}", self.discretization]
        if self.engine != "auto":
            settings.append(f"engine {self.engine}")
        if self.mesh_size is not None:
            settings.append(f"mesh_size {self.mesh_size!r}")
        settings.append(self._settings.width())
        if not self.attained:
            settings.append(
                "lower bounds of data sets that exist, upper ones that none are known to reach"
            )
        return (
            "<table><caption>PrivacyCurve</caption>"
            f"<thead><tr><th>mechanism</th><th>count</th></tr></thead><tbody>{rows}</tbody>"
            f"<tfoot><tr><td colspan=2>{escape('; '.join(settings))}</td></tr></tfoot></table>"
        )
