"""Flower's privacy accounting with certified bounds.

Needs flwr 1.35 or later, whose `flwr.serverapp` has the protocol `PrivacyAccountant`. The unit of
privacy is a client: neighbouring federations differ by one client with all its records. Noise
multipliers are over the clipping norm of a client's update, as Flower's strategies with fixed
clipping add noise: ``noise_multiplier * clipping_norm`` to the sum of the updates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from flwr.serverapp import (
    GaussianPrivacyEvent,
    NeighboringRelation,
    PrivacyConfig,
    PrivacySpent,
    SamplingMethod,
)

from prvcore import _arguments
from prvcore._bounds import ScalarBounds
from prvcore._compose import compose
from prvcore._curve import PrivacyCurve
from prvcore._outward import RoundedUp
from prvcore._quotients import quotient_rounded_up
from prvcore._settings import Neighbors, WidthOptions
from prvcore.mechanisms.base import Mechanism
from prvcore.mechanisms.noise import Gaussian
from prvcore.mechanisms.subsampled import PoissonSubsampledGaussian, SubsampledWithoutReplacement

__all__ = ["FlowerAccountant"]

_METHOD = "prvcore"
_READABLE = (_METHOD, "rdp")  # backends whose states have the events themselves
_SCHEMA_VERSION = 1
_WIDTH = 1e-5  # of the bounds that decide whether a budget is exceeded, over the budget
_MOST = 2**53
_NEIGHBORS: dict[NeighboringRelation, Neighbors] = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: "add-or-remove",
    NeighboringRelation.REPLACE_ONE: "replace-one",
}


class FlowerAccountant:
    """A backend for Flower's `PrivacyAccountant` protocol whose epsilon is a certified upper bound.

    Parameters
    ----------
    config : flwr.serverapp.PrivacyConfig
        Delta, number of clients, neighbouring relation, sampling, and the budget, if any.
    **options
        The keyword arguments of `prvcore.compose` other than `neighbors`, which the config says.

    Raises
    ------
    TypeError, ValueError
        `config` is no ``PrivacyConfig``, or has a relation that is not known here; or an option is
        none of `compose`, or out of its range.

    Notes
    -----
    If clients are sampled without replacement, neighbours have one client replaced by another, and
    the sum of the updates changes by twice the clipping norm. Flower's RDP backend takes the noise
    multiplier of such an event to be over the greatest change of the sum, and has a smaller epsilon
    for the same number.

    Examples
    --------
    >>> from flwr.serverapp import (  # doctest: +SKIP
    ...     GaussianPrivacyEvent, NeighboringRelation, PrivacyConfig, SamplingMethod
    ... )
    >>> config = PrivacyConfig(  # doctest: +SKIP
    ...     target_delta=1e-6,
    ...     population_size=1000,
    ...     neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
    ...     sampling_method=SamplingMethod.POISSON,
    ... )
    >>> accountant = FlowerAccountant(config)  # doctest: +SKIP
    >>> accountant.compose(GaussianPrivacyEvent(1.2, 10, 1000), count=100)  # doctest: +SKIP
    >>> accountant.get_epsilon(1e-6)  # doctest: +SKIP

    """

    def __init__(self, config: PrivacyConfig, **options: Unpack[WidthOptions]) -> None:
        if not isinstance(config, PrivacyConfig):
            raise TypeError(f"config must be a PrivacyConfig of flwr, got {config!r}")
        if "neighbors" in options:
            raise TypeError("FlowerAccountant takes no neighbors, which config says")
        if config.neighboring_relation not in _NEIGHBORS:
            raise ValueError(
                f"neighboring_relation of config must be one of {[r.name for r in _NEIGHBORS]}, "
                f"got {config.neighboring_relation!r}"
            )
        self._config = config
        self._options = options
        self._compositions: list[tuple[GaussianPrivacyEvent, int]] = []
        self._curve([])  # refuses options that would be refused later

    @property
    def config(self) -> PrivacyConfig:
        """The configuration."""
        return self._config

    @property
    def num_releases(self) -> int:
        """How many releases were composed."""
        return sum(count for _, count in self._compositions)

    def compose(self, event: GaussianPrivacyEvent, count: int = 1) -> None:
        """Record equal releases.

        Parameters
        ----------
        event : flwr.serverapp.GaussianPrivacyEvent
            Of the population of the config.
        count : int, default 1
            How many, >= 1.

        Raises
        ------
        TypeError, ValueError
            An argument is of another kind or out of its range.

        """
        self._mechanism(event)
        count = _arguments.integer(count, "count", 1, _MOST)
        _arguments.total_count([self.num_releases, count])
        self._compositions.append((event, count))

    def bounds(self, delta: float | None = None) -> ScalarBounds:
        """Return both bounds of the epsilon spent so far, nats.

        Parameters
        ----------
        delta : float, optional
            Probability in (0, 1); that of the config if left out.

        Returns
        -------
        Bounds
            Nats.

        """
        target = self._config.target_delta if delta is None else delta
        return self._now().epsilon(_arguments.open_probability(target, "delta"))

    def get_epsilon(self, delta: float) -> float:
        """Return the upper bound of the epsilon spent so far, nats."""
        return RoundedUp(self.bounds(_arguments.open_probability(delta, "delta")).upper)

    def get_delta(self, epsilon: float) -> float:
        """Return the upper bound of delta at an epsilon >= 0."""
        return RoundedUp(self._now().delta(_arguments.non_negative(epsilon, "epsilon")).upper)

    def get_privacy_spent(self, delta: float | None = None) -> PrivacySpent:
        """Return what was spent, at a delta or that of the config."""
        target = self._config.target_delta if delta is None else delta
        return PrivacySpent(
            epsilon=self.get_epsilon(target),
            delta=target,
            num_releases=self.num_releases,
            accounting_method=_METHOD,
        )

    def would_exceed(
        self, event: GaussianPrivacyEvent, max_epsilon: float | None = None, count: int = 1
    ) -> bool:
        """Return whether so many more releases are not known to keep within an epsilon.

        Parameters
        ----------
        event : flwr.serverapp.GaussianPrivacyEvent
            Of the population of the config.
        max_epsilon : float, optional
            Budget, nats, finite and > 0; that of the config if left out.
        count : int, default 1
            How many releases, >= 1.

        Returns
        -------
        bool
            False if the whole is proven to be within the budget at the delta of the config. Bounds
            are refined until that is decided, or they are 1e-5 of the budget apart.

        Raises
        ------
        TypeError, ValueError
            There is no budget, or an argument is of another kind or out of its range.

        """
        limit = self._config.max_epsilon if max_epsilon is None else max_epsilon
        if limit is None:
            raise ValueError("max_epsilon must be given, to PrivacyConfig or to would_exceed")
        limit = _arguments.positive(limit, "max_epsilon")
        step = self._mechanism(event), _arguments.integer(count, "count", 1, _MOST)
        curve = self._curve([*self._steps(), step])
        return not curve._is_within(limit, self._config.target_delta, _WIDTH * limit)

    def state_dict(self) -> dict[str, object]:
        """Return what was composed, as JSON can hold it, in the form of Flower's own backend."""
        return {
            "schema_version": _SCHEMA_VERSION,
            "backend": _METHOD,
            "config": _config_as_dict(self._config),
            "compositions": [
                {
                    "event": {
                        "noise_multiplier": event.noise_multiplier,
                        "sample_size": event.sample_size,
                        "population_size": event.population_size,
                    },
                    "count": count,
                }
                for event, count in self._compositions
            ],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace what was composed by what a state says.

        Parameters
        ----------
        state : dict
            Of this backend, or of Flower's RDP backend, whose state has the events themselves.

        Raises
        ------
        ValueError
            The state is of another kind or version, of another configuration, or has something else
            than events. Nothing is changed then.

        """
        try:
            version, backend = state["schema_version"], state["backend"]
            config, compositions = state["config"], state["compositions"]
        except (KeyError, TypeError) as error:
            raise ValueError(f"state must be a state of a Flower accountant: {error!r}") from None
        if version != _SCHEMA_VERSION:
            raise ValueError(f"state must be of schema version {_SCHEMA_VERSION}, got {version!r}")
        if backend not in _READABLE:
            raise ValueError(f"state must be of one of the backends {_READABLE}, got {backend!r}")
        if config != _config_as_dict(self._config):
            raise ValueError(
                "state must be of the configuration of this accountant, "
                f"{_config_as_dict(self._config)}, got {config!r}"
            )
        try:
            found = [
                (
                    GaussianPrivacyEvent(**composition["event"]),
                    _arguments.integer(composition["count"], "count", 1, _MOST),
                )
                for composition in compositions
            ]
            for event, _ in found:
                self._mechanism(event)
            _arguments.total_count([count for _, count in found])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"state has a composition that is none: {error}") from None
        self._compositions = found

    def _mechanism(self, event: GaussianPrivacyEvent) -> Mechanism:
        if not isinstance(event, GaussianPrivacyEvent):
            raise TypeError(f"event must be a GaussianPrivacyEvent of flwr, got {event!r}")
        if event.population_size != self._config.population_size:
            raise ValueError(
                "population_size of the event must be that of the config, "
                f"{self._config.population_size}, got {event.population_size}"
            )
        noise = Gaussian(event.noise_multiplier)
        share = quotient_rounded_up(event.sample_size, event.population_size)
        if self._config.sampling_method is SamplingMethod.POISSON:
            return PoissonSubsampledGaussian(noise.noise_multiplier, share)
        if self._config.sampling_method is SamplingMethod.WITHOUT_REPLACEMENT:
            return SubsampledWithoutReplacement(noise, share)
        return noise

    def _steps(self) -> list[tuple[Mechanism, int]]:
        return [(self._mechanism(event), count) for event, count in self._compositions]

    def _now(self) -> PrivacyCurve:
        return self._curve(self._steps())

    def _curve(self, steps: list[tuple[Mechanism, int]]) -> PrivacyCurve:
        relation = _NEIGHBORS[self._config.neighboring_relation]
        return compose(steps, neighbors=relation, **self._options)


def _config_as_dict(config: PrivacyConfig) -> dict[str, object]:
    return {
        "target_delta": config.target_delta,
        "population_size": config.population_size,
        "neighboring_relation": config.neighboring_relation.value,
        "sampling_method": config.sampling_method.value,
        "max_epsilon": config.max_epsilon,
    }
