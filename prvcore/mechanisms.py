"""Mechanisms: what is composed.

Each is an immutable value: equal to another of the same parameters, hashable, and picklable where
its parameters are. All losses, epsilons and scales of loss are in nats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prvcore import _arguments, _mechanism, _pickling

__all__ = [
    "ApproximateDP",
    "BoundedRange",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "FromCDFs",
    "FromPrivacyCurve",
    "FromTable",
    "Gaussian",
    "GroupPoissonSubsampledGaussian",
    "Laplace",
    "Mechanism",
    "MixtureOfGaussians",
    "PoissonSubsampled",
    "PoissonSubsampledGaussian",
    "PureDP",
    "RandomizedResponse",
    "SubsampledWithoutReplacement",
    "TruncatedPoissonSubsampledGaussian",
]

_MAX_SENSITIVITY = 2**63 - 1


class Mechanism(_pickling.Pickled):
    """Base of all mechanisms, for annotations and `isinstance`; not to be derived from."""

    __slots__ = ()

    _FIELDS: ClassVar[dict[str, str]] = {}  # which of them calibration may change

    def _key(self) -> tuple[Any, ...]:
        """Return what orders mechanisms; equal keys are one mechanism to the C core."""
        raise NotImplementedError

    def _handle(self) -> _mechanism.Handle:
        raise NotImplementedError

    def _parameter(self, name: str) -> float | None:
        """Return the "noise" or the "sampling_probability", None where there is none."""
        field = self._FIELDS.get(name)
        return None if field is None else getattr(self, field)

    def _with(self, name: str, value: float) -> Mechanism:
        """Return this mechanism with another value of a parameter that it has."""
        return replace(self, **{self._FIELDS[name]: value})

    def _build(self, neighbors: str) -> _mechanism.Handle:
        """Return the mechanism of the C core; its refusal is told with this mechanism's name."""
        try:
            handle = self._handle()
        except ValueError as error:
            raise ValueError(f"{self!r}: {error}") from None
        replaced = neighbors == "replace-one"
        if not _mechanism.has_neighbors(handle, replaced):
            known = "'add-or-remove', 'add' or 'remove'" if replaced else "'replace-one'"
            raise ValueError(
                f"neighbors must be {known}, got {neighbors!r}: no dominating pair of {self!r} is "
                "known for it"
            )
        return handle

    def _missing_mass(self) -> str | None:
        """Say where a function of one's own is not near its limit, None where none is known to be.

        Only such functions can miss it. Where they belong to what is sampled, that is asked.
        """
        base = getattr(self, "mechanism", None)
        return base._missing_mass() if isinstance(base, Mechanism) else None

    def _set(self, **fields: object) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True)
class Gaussian(Mechanism):
    """Gaussian noise on a query of L2 sensitivity 1.

    The dominating pair is N(0, s^2) and N(1, s^2) with s the noise multiplier.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the sensitivity, finite and >= 0; 0 is no noise at all
        (epsilon is infinite).

    Raises
    ------
    TypeError, ValueError
        `noise_multiplier` is not a real number, or is out of its range.

    """

    noise_multiplier: float

    _FIELDS: ClassVar[dict[str, str]] = {"noise": "noise_multiplier"}

    def __post_init__(self) -> None:
        self._set(
            noise_multiplier=_arguments.non_negative(self.noise_multiplier, "noise_multiplier")
        )

    def _key(self) -> tuple[Any, ...]:
        return ("Gaussian", self.noise_multiplier)

    def _handle(self) -> _mechanism.Handle:
        return _mechanism.gaussian(self.noise_multiplier)


@dataclass(frozen=True, slots=True)
class Laplace(Mechanism):
    """Laplace noise on a real query.

    Parameters
    ----------
    scale : float
        Scale of the noise, in units of the query, finite and >= 0; 0 is no noise at all.
    sensitivity : float, default 1
        Greatest change of the query between neighbours, finite and > 0.

    Raises
    ------
    TypeError, ValueError
        An argument is not a real number, or is out of its range.

    """

    scale: float
    sensitivity: float = 1.0

    _FIELDS: ClassVar[dict[str, str]] = {"noise": "scale"}

    def __post_init__(self) -> None:
        self._set(
            scale=_arguments.non_negative(self.scale, "scale"),
            sensitivity=_arguments.positive(self.sensitivity, "sensitivity"),
        )

    def _key(self) -> tuple[Any, ...]:
        return ("Laplace", self.scale, self.sensitivity)

    def _handle(self) -> _mechanism.Handle:
        return _mechanism.laplace(self.scale, self.sensitivity)


@dataclass(frozen=True, slots=True)
class PureDP(Mechanism):
    """Any mechanism that is epsilon-DP, by the pair that dominates them all.

    That pair is randomized response: loss +epsilon or -epsilon, in the ratio e^epsilon to 1 [1]_.

    Parameters
    ----------
    epsilon : float
        Finite and >= 0, nats.

    Raises
    ------
    TypeError, ValueError
        `epsilon` is not a real number, or is out of its range.

    References
    ----------
    .. [1] Kairouz, Oh, Viswanath, "The composition theorem for differential privacy", ICML 2015,
       arXiv:1311.0776.

    """

    epsilon: float

    def __post_init__(self) -> None:
        self._set(epsilon=_arguments.non_negative(self.epsilon, "epsilon"))

    def _key(self) -> tuple[Any, ...]:
        return ("ApproximateDP", self.epsilon, 0.0)

    def _handle(self) -> _mechanism.Handle:
        return _mechanism.approximate_dp(self.epsilon, 0.0)


@dataclass(frozen=True, slots=True)
class ApproximateDP(Mechanism):
    """Any mechanism that is (epsilon, delta)-DP, by the pair that dominates them all.

    Its loss is infinite with probability delta, and else as that of `PureDP` [1]_.

    Parameters
    ----------
    epsilon : float
        Finite and >= 0, nats.
    delta : float
        Probability in [0, 1].

    Raises
    ------
    TypeError, ValueError
        An argument is not a real number, or is out of its range.

    References
    ----------
    .. [1] Kairouz, Oh, Viswanath, "The composition theorem for differential privacy", ICML 2015,
       arXiv:1311.0776.

    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        self._set(
            epsilon=_arguments.non_negative(self.epsilon, "epsilon"),
            delta=_arguments.probability(self.delta, "delta"),
        )

    def _key(self) -> tuple[Any, ...]:
        return ("ApproximateDP", self.epsilon, self.delta)

    def _handle(self) -> _mechanism.Handle:
        return _mechanism.approximate_dp(self.epsilon, self.delta)


@dataclass(frozen=True, slots=True)
class BoundedRange(Mechanism):
    """Any mechanism whose privacy losses lie in an interval of this length, wherever it lies.

    Such are the exponential mechanism and report-noisy-max with Gumbel noise, which is the same.
    The pair dominates them all: delta(x) = (e^(epsilon/2) - e^(x/2))^2 / (e^epsilon - 1) for
    abs(x) <= epsilon, the greatest of the deltas of generalized randomized responses [2]_. It is
    much tighter than `PureDP` of the same epsilon, of which it has no atoms.

    Parameters
    ----------
    epsilon : float
        Length of the interval, nats, finite and >= 0. Probabilities proportional to
        exp(epsilon * u / (2 * s)), u a utility of sensitivity s, have it, and so have those
        proportional to exp(epsilon * u / s) where a record can only raise u, or only lower it [1]_.

    Raises
    ------
    TypeError, ValueError
        `epsilon` is not a real number, or is out of its range.

    References
    ----------
    .. [1] Durfee, Rogers, "Practical differentially private top-k selection with pay-what-you-get
       composition", NeurIPS 2019, arXiv:1905.04273.
    .. [2] Dong, Durfee, Rogers, "Optimal differential privacy composition for exponential
       mechanisms", ICML 2020, arXiv:1909.13830.

    """

    epsilon: float

    def __post_init__(self) -> None:
        self._set(epsilon=_arguments.non_negative(self.epsilon, "epsilon"))

    def _key(self) -> tuple[Any, ...]:
        return ("BoundedRange", self.epsilon)

    def _handle(self) -> _mechanism.Handle:
        return _mechanism.bounded_range(self.epsilon)


@dataclass(frozen=True, slots=True)
class RandomizedResponse(Mechanism):
    """Randomized response, for ``neighbors="replace-one"``.

    Each answers a question truly with probability e^epsilon / (e^epsilon + categories - 1), and
    else with one of the other categories at random [1]_. Who answers is no secret: the neighbouring
    data sets have another answer in place of one. Other epsilon-DP local randomizers are `PureDP`.

    Parameters
    ----------
    epsilon : float
        Finite and >= 0, nats.
    categories : int, default 2
        Number of possible answers, in [2, 2^63 - 1].

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range. `compose` raises ValueError for all
        other `neighbors`.

    References
    ----------
    .. [1] Kairouz, Oh, Viswanath, "Extremal mechanisms for local differential privacy", JMLR 2016,
       arXiv:1407.1338.

    """

    epsilon: float
    categories: int = 2

    def __post_init__(self) -> None:
        self._set(
            epsilon=_arguments.non_negative(self.epsilon, "epsilon"),
            categories=_arguments.integer(self.categories, "categories", 2, 2**63 - 1),
        )

    def _key(self) -> tuple[Any, ...]:
        return ("RandomizedResponse", self.epsilon, self.categories)

    def _handle(self) -> _mechanism.Handle:
        return _mechanism.randomized_response(self.epsilon, self.categories)


@dataclass(frozen=True, slots=True)
class PoissonSubsampledGaussian(Mechanism):
    """The step of DP-SGD: Gaussian noise on a Poisson sample.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the sensitivity, finite and >= 0.
    sampling_probability : float
        Probability in [0, 1] with which each record enters the sample, independently of all others.
        0 is the identity, 1 the Gaussian mechanism itself.

    Raises
    ------
    TypeError, ValueError
        An argument is not a real number, or is out of its range.

    Notes
    -----
    Fixed-size batches and shuffled epochs are other mechanisms, for which these bounds do not hold.

    """

    noise_multiplier: float
    sampling_probability: float

    _FIELDS: ClassVar[dict[str, str]] = {
        "noise": "noise_multiplier",
        "sampling_probability": "sampling_probability",
    }

    def __post_init__(self) -> None:
        self._set(
            noise_multiplier=_arguments.non_negative(self.noise_multiplier, "noise_multiplier"),
            sampling_probability=_arguments.probability(
                self.sampling_probability, "sampling_probability"
            ),
        )

    def _key(self) -> tuple[Any, ...]:
        return ("PoissonSubsampled", ("Gaussian", self.noise_multiplier), self.sampling_probability)

    def _handle(self) -> _mechanism.Handle:
        return _mechanism.poisson_subsampled(
            _mechanism.gaussian(self.noise_multiplier), self.sampling_probability
        )


@dataclass(frozen=True, slots=True)
class TruncatedPoissonSubsampledGaussian(Mechanism):
    """`PoissonSubsampledGaussian` with a greatest batch size.

    A Poisson sample that has more records than that is cut down to it at random. Where it can be
    so large without the record, the record's presence changes which others are kept, and the sum
    by up to twice the sensitivity; this is taken to be known [1]_.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the sensitivity, finite and >= 0.
    sampling_probability : float
        Probability in [0, 1] with which each record enters the sample before it is cut.
    dataset_size : int
        Number of records, in [1, 2^32]; where records are added or removed, of the larger of the
        two data sets.
    maximum_batch_size : int
        Most records that are kept, in [1, 2^32].

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range.

    References
    ----------
    .. [1] Ganesh, "Tighter privacy analysis for truncated Poisson sampling", 2025,
       arXiv:2508.15089. Derived in MECHANISMS.md, section 6.

    """

    noise_multiplier: float
    sampling_probability: float
    dataset_size: int
    maximum_batch_size: int

    _FIELDS: ClassVar[dict[str, str]] = {"noise": "noise_multiplier"}

    def __post_init__(self) -> None:
        self._set(
            noise_multiplier=_arguments.non_negative(self.noise_multiplier, "noise_multiplier"),
            sampling_probability=_arguments.probability(
                self.sampling_probability, "sampling_probability"
            ),
            dataset_size=_arguments.integer(self.dataset_size, "dataset_size", 1, 2**32),
            maximum_batch_size=_arguments.integer(
                self.maximum_batch_size, "maximum_batch_size", 1, 2**32
            ),
        )

    def _key(self) -> tuple[Any, ...]:
        return (
            type(self).__name__,
            self.noise_multiplier,
            self.sampling_probability,
            self.dataset_size,
            self.maximum_batch_size,
        )

    def _handle(self) -> _mechanism.Handle:
        return _mechanism.truncated_poisson_gaussian(
            self.noise_multiplier,
            self.sampling_probability,
            self.dataset_size,
            self.maximum_batch_size,
        )


@dataclass(frozen=True, slots=True)
class GroupPoissonSubsampledGaussian(Mechanism):
    """`PoissonSubsampledGaussian` for neighbours that differ by a group of records.

    All records of the group are in one of the data sets and none in the other. How many of them are
    in the sample is binomial, and so many times the sensitivity is the greatest change of the
    query: a `MixtureOfGaussians` [1]_.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the sensitivity to one record, finite and >= 0.
    sampling_probability : float
        Probability in [0, 1] with which each record enters the sample, independently of all others.
    group_size : int
        Records of the group, in [1, 4095].

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range.

    References
    ----------
    .. [1] Ganesh, "Tight group-level DP guarantees for DP-SGD with sampling via mixture of
       Gaussians mechanisms", 2024, arXiv:2401.10294, Theorem 3.1.

    """

    noise_multiplier: float
    sampling_probability: float
    group_size: int

    _FIELDS: ClassVar[dict[str, str]] = {"noise": "noise_multiplier"}

    def __post_init__(self) -> None:
        self._set(
            noise_multiplier=_arguments.non_negative(self.noise_multiplier, "noise_multiplier"),
            sampling_probability=_arguments.probability(
                self.sampling_probability, "sampling_probability"
            ),
            group_size=_arguments.integer(
                self.group_size, "group_size", 1, _arguments.MAX_COMPONENTS - 1
            ),
        )

    def _key(self) -> tuple[Any, ...]:
        return (
            type(self).__name__,
            self.noise_multiplier,
            self.sampling_probability,
            self.group_size,
        )

    def _handle(self) -> _mechanism.Handle:
        return _mechanism.group_gaussian(
            self.noise_multiplier, self.sampling_probability, self.group_size
        )


@dataclass(frozen=True, slots=True, eq=False)
class MixtureOfGaussians(Mechanism):
    """Gaussian noise on a query whose greatest change is random.

    The dominating pair is N(0, s^2) and sum_i p_i N(c_i, s^2), with s the noise multiplier, c the
    sensitivities and p their probabilities [1]_; removing a record has the mixture first. It is
    what matrix mechanisms (DP-FTRL) with random participation compose, once their correlated
    outputs have been reduced to independent ones, which is for the caller to do.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise, in units of the sensitivities, finite and >= 0.
    sensitivities : array_like of float, shape (n,)
        Norms of the changes, finite and >= 0, 1 <= n <= 4096, in any order.
    probabilities : array_like of float, shape (n,)
        Of each, >= 0, with a sum of 1 within 1e-9; then normalised.

    Attributes
    ----------
    sensitivities, probabilities : ndarray of float64, shape (n,)
        Copies, read-only.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range. `compose` raises ValueError where
        sensitivities over the noise lie on both sides of 1e150.

    References
    ----------
    .. [1] Choquette-Choo, Ganesh, Steinke, Thakurta, "Privacy amplification for matrix mechanisms",
       ICLR 2024, arXiv:2310.15526, Corollary 4.7.

    Examples
    --------
    >>> sampled_twice = MixtureOfGaussians(2.0, [0.0, 1.0, 2.0], [0.81, 0.18, 0.01])

    """

    noise_multiplier: float
    sensitivities: NDArray[np.float64]
    probabilities: NDArray[np.float64]

    _FIELDS: ClassVar[dict[str, str]] = {"noise": "noise_multiplier"}

    def __post_init__(self) -> None:
        self._set(
            noise_multiplier=_arguments.non_negative(self.noise_multiplier, "noise_multiplier"),
            sensitivities=_arguments.frozen_vector(self.sensitivities, "sensitivities"),
            probabilities=_arguments.frozen_vector(self.probabilities, "probabilities"),
        )
        _arguments.components(self.sensitivities, self.probabilities)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MixtureOfGaussians):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return (
            "MixtureOfGaussians",
            self.noise_multiplier,
            self.sensitivities.tobytes(),
            self.probabilities.tobytes(),
        )

    def _handle(self) -> _mechanism.Handle:
        return _mechanism.gaussian_mixture(
            self.noise_multiplier, self.sensitivities, self.probabilities
        )


@dataclass(frozen=True, slots=True)
class _Subsampled(Mechanism):
    """A mechanism on a sample: what its kinds have in common."""

    mechanism: Mechanism
    sampling_probability: float

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, Mechanism):
            raise TypeError(f"mechanism must be a mechanism of prvcore, got {self.mechanism!r}")
        self._set(
            sampling_probability=_arguments.probability(
                self.sampling_probability, "sampling_probability"
            )
        )

    def _parameter(self, name: str) -> float | None:
        return self.mechanism._parameter(name) if name == "noise" else self.sampling_probability

    def _with(self, name: str, value: float) -> Mechanism:
        if name == "noise":
            return replace(self, mechanism=self.mechanism._with(name, value))
        return replace(self, sampling_probability=value)


@dataclass(frozen=True, slots=True)
class PoissonSubsampled(_Subsampled):
    """A mechanism on a Poisson sample.

    With (P, Q) the pair of the mechanism and p the sampling probability, removing a record has the
    pair ((1-p)P + pQ, P), adding one (Q, (1-p)Q + pP) [1]_.

    Parameters
    ----------
    mechanism : Mechanism
        What runs on the sample.
    sampling_probability : float
        Probability in [0, 1] with which each record enters the sample, independently of all others.

    Raises
    ------
    TypeError, ValueError
        `mechanism` is no mechanism, or `sampling_probability` is out of its range. `compose` raises
        ValueError for a mechanism whose subsampling is not defined.

    References
    ----------
    .. [1] Zhu, Dong, Wang, "Optimal accounting of differential privacy via characteristic
       function", AISTATS 2022, arXiv:2106.08567, Theorem 11.

    """

    def _key(self) -> tuple[Any, ...]:
        return ("PoissonSubsampled", self.mechanism._key(), self.sampling_probability)

    def _handle(self) -> _mechanism.Handle:
        return _mechanism.poisson_subsampled(self.mechanism._handle(), self.sampling_probability)


@dataclass(frozen=True, slots=True)
class SubsampledWithoutReplacement(_Subsampled):
    """A mechanism on a sample of fixed size, for ``neighbors="replace-one"``.

    With (P, Q) the pair of the mechanism where a record is replaced, p the sampling probability and
    H_a the hockey-stick divergence, delta is H_a((1-p)P + pQ, P) at a = e^epsilon >= 1, and what
    is symmetric to it at negative epsilon [1]_.

    Parameters
    ----------
    mechanism : Mechanism
        What runs on the sample. It is not sampled itself, and has a pair for replaced records.
    sampling_probability : float
        Size of the sample over the number of records, in [0, 1].

    Raises
    ------
    TypeError, ValueError
        `mechanism` is no mechanism, or `sampling_probability` is out of its range. `compose` raises
        ValueError for a mechanism that has no pair for replaced records, and for all other
        `neighbors`.

    Notes
    -----
    `PoissonSubsampled` is another mechanism: with Gaussian noise a sample of fixed size has a far
    larger epsilon than a Poisson sample, since each record in it is in the place of another one.

    References
    ----------
    .. [1] Zhu, Dong, Wang, "Optimal accounting of differential privacy via characteristic
       function", AISTATS 2022, arXiv:2106.08567; Lebeda, Regehr, Kamath, Steinke, "Avoiding
       pitfalls for privacy accounting of subsampled mechanisms under composition", 2024,
       arXiv:2405.20769.

    """

    def _key(self) -> tuple[Any, ...]:
        return ("SubsampledWithoutReplacement", self.mechanism._key(), self.sampling_probability)

    def _handle(self) -> _mechanism.Handle:
        return _mechanism.subsampled_without_replacement(
            self.mechanism._handle(), self.sampling_probability
        )


@dataclass(frozen=True, slots=True)
class _DiscreteNoise(Mechanism):
    """Noise on an integer query: what its kinds have in common."""

    scale: float
    sensitivity: int = 1

    _FIELDS: ClassVar[dict[str, str]] = {"noise": "scale"}

    def __post_init__(self) -> None:
        self._set(
            scale=_arguments.positive(self.scale, "scale"),
            sensitivity=_arguments.integer(self.sensitivity, "sensitivity", 1, _MAX_SENSITIVITY),
        )

    def _key(self) -> tuple[Any, ...]:
        return (type(self).__name__, self.scale, self.sensitivity)


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(_DiscreteNoise):
    """Discrete Gaussian noise on an integer query.

    The noise has probabilities proportional to exp(-x^2 / (2 scale^2)) on the integers [1]_.

    Parameters
    ----------
    scale : float
        Finite and > 0, in units of the query; nearly the standard deviation.
    sensitivity : int, default 1
        Greatest change of the query between neighbours, >= 1.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range. `compose` raises ValueError for a
        scale so large that the noise has more than 2^24 values.

    References
    ----------
    .. [1] Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020,
       arXiv:2004.00010.

    """

    def _handle(self) -> _mechanism.Handle:
        return _mechanism.discrete_gaussian(self.scale, self.sensitivity)


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(_DiscreteNoise):
    """Discrete Laplace (two-sided geometric) noise on an integer query.

    The noise has probabilities proportional to exp(-abs(x) / scale) on the integers.

    Parameters
    ----------
    scale : float
        Finite and > 0, in units of the query.
    sensitivity : int, default 1
        Greatest change of the query between neighbours, >= 1.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range. `compose` raises ValueError for a
        sensitivity that gives the loss more than 2^24 values.

    """

    def _handle(self) -> _mechanism.Handle:
        return _mechanism.discrete_laplace(self.scale, self.sensitivity)


@dataclass(frozen=True, slots=True)
class FromCDFs(Mechanism):
    """One's own mechanism, by the distribution functions of its privacy loss.

    Parameters
    ----------
    cdf_q : callable
        ``cdf_q(losses)`` returns Q(loss <= losses[i]), where the loss is log(dQ/dP). It is called
        with a one-dimensional float64 array of increasing losses and must return an array of the
        same shape: a function of scalars has to be vectorised. Rises to ``1 - mass_at_infinity``.
    cdf_p : callable
        The same with the outcome drawn from P.
    mass_at_infinity : float, default 0
        Q's mass of outcomes that P never has, in [0, 1].

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range.

    Notes
    -----
    The functions are called while a curve is queried, perhaps from several threads at once, and at
    losses far outside of where the mass is. What they raise comes out of the query unchanged;
    values that leave [0, 1], decrease, or belong to no pair raise ValueError there. Each value is
    taken to have an absolute error of up to 2^-51, which widens the bounds.

    Two such mechanisms are equal if their functions are; a mechanism is picklable if they are.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> mechanism = FromCDFs(norm(loc=0.5).cdf, norm(loc=-0.5).cdf)  # Gaussian(1)

    """

    cdf_q: Callable[[NDArray[np.float64]], ArrayLike]
    cdf_p: Callable[[NDArray[np.float64]], ArrayLike]
    mass_at_infinity: float = 0.0

    def __post_init__(self) -> None:
        _arguments.function(self.cdf_q, "cdf_q")
        _arguments.function(self.cdf_p, "cdf_p")
        self._set(
            mass_at_infinity=_arguments.probability(self.mass_at_infinity, "mass_at_infinity")
        )

    def _key(self) -> tuple[Any, ...]:
        return ("FromCDFs", id(self.cdf_q), id(self.cdf_p), self.mass_at_infinity)

    def _missing_mass(self) -> str | None:
        found = float(np.asarray(self.cdf_q(np.array([_arguments.FARTHEST_LOSS])))[0])
        return _arguments.missing_mass("cdf_q", "loss", found, 1.0 - found, self.mass_at_infinity)

    def _handle(self) -> _mechanism.Handle:
        return _mechanism.cdfs(self.cdf_q, self.cdf_p, self.mass_at_infinity)


@dataclass(frozen=True, slots=True, eq=False)
class FromTable(Mechanism):
    """One's own mechanism, by a table of its privacy loss.

    P has the mass ``probability * exp(-loss)`` at each loss, and the rest of its mass where Q has
    none. The pair is taken to dominate in both directions of the neighbouring relation.

    Parameters
    ----------
    losses : array_like of float, shape (n,)
        Nats, finite and strictly increasing, n >= 1.
    probabilities : array_like of float, shape (n,)
        Q's masses, >= 0. Together with `mass_at_infinity` they sum to 1 within 1e-9, and are then
        normalised.
    mass_at_infinity : float, default 0
        Q's mass of outcomes that P never has, in [0, 1].

    Attributes
    ----------
    losses, probabilities : ndarray of float64, shape (n,)
        Copies, read-only.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range, or P would have more mass than 1.

    """

    losses: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    mass_at_infinity: float = 0.0

    def __post_init__(self) -> None:
        self._set(
            losses=_arguments.frozen_vector(self.losses, "losses"),
            probabilities=_arguments.frozen_vector(self.probabilities, "probabilities"),
            mass_at_infinity=_arguments.probability(self.mass_at_infinity, "mass_at_infinity"),
        )
        _arguments.table(self.losses, self.probabilities, self.mass_at_infinity)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FromTable):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return (
            "FromTable",
            self.losses.tobytes(),
            self.probabilities.tobytes(),
            self.mass_at_infinity,
        )

    def _handle(self) -> _mechanism.Handle:
        return _mechanism.table(self.losses, self.probabilities, self.mass_at_infinity)


@dataclass(frozen=True, slots=True)
class FromPrivacyCurve(Mechanism):
    """One's own mechanism, by its privacy curve.

    Parameters
    ----------
    delta : callable
        ``delta(epsilons)`` returns the curve at each epsilon, negative ones too. It is called with
        a one-dimensional float64 array of increasing epsilons and must return an array of the same
        shape: a function of scalars has to be vectorised. In [0, 1], non-increasing, convex in
        e^epsilon, at least 1 - e^epsilon, and falling to `mass_at_infinity`.
    mass_at_infinity : float, default 0
        The limit of the curve at infinite epsilon, in [0, 1].

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range.

    Notes
    -----
    The function is called while a curve is queried, perhaps from several threads at once, and at
    epsilons so large that e^epsilon overflows. What it raises comes out of the query unchanged;
    values that belong to no curve raise ValueError there.

    A privacy curve fixes a dominating pair [1]_. Two such mechanisms are equal if their functions
    are; a mechanism is picklable if its function is.

    References
    ----------
    .. [1] Zhu, Dong, Wang, "Optimal accounting of differential privacy via characteristic
       function", AISTATS 2022, arXiv:2106.08567.

    Examples
    --------
    >>> import numpy as np
    >>> perfect = FromPrivacyCurve(lambda epsilons: -np.expm1(np.minimum(epsilons, 0.0)))

    """

    delta: Callable[[NDArray[np.float64]], ArrayLike]
    mass_at_infinity: float = 0.0

    def __post_init__(self) -> None:
        _arguments.function(self.delta, "delta")
        self._set(
            mass_at_infinity=_arguments.probability(self.mass_at_infinity, "mass_at_infinity")
        )

    def _key(self) -> tuple[Any, ...]:
        return ("FromPrivacyCurve", id(self.delta), self.mass_at_infinity)

    def _missing_mass(self) -> str | None:
        found = float(np.asarray(self.delta(np.array([_arguments.FARTHEST_LOSS])))[0])
        return _arguments.missing_mass("delta", "epsilon", found, found, self.mass_at_infinity)

    def _handle(self) -> _mechanism.Handle:
        return _mechanism.curve(self.delta, self.mass_at_infinity)
