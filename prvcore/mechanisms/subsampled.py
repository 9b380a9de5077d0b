"""Mechanisms on a sample of the records."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from prvcore import _arguments
from prvcore._core import mechanism as core
from prvcore._names import public
from prvcore._steps import Mechanisms
from prvcore.mechanisms.base import Mechanism
from prvcore.mechanisms.composed import on_same_records

__all__ = [
    "GroupPoissonSubsampledGaussian",
    "GroupSubsampledWithoutReplacementGaussian",
    "PoissonSubsampled",
    "PoissonSubsampledGaussian",
    "SubsampledWithoutReplacement",
    "TruncatedPoissonSubsampledGaussian",
]


_size = partial(_arguments.integer, least=1, greatest=2**32)


@dataclass(frozen=True, slots=True)
class _Subsampled(Mechanism):
    """A mechanism on a sample: what its kinds have in common."""

    mechanism: Mechanism
    sampling_probability: float

    def __post_init__(self) -> None:
        self._check(mechanism=on_same_records, sampling_probability=_arguments.probability)

    def _parameter(self, name: str) -> float | None:
        return self.mechanism._parameter(name) if name == "noise" else self.sampling_probability

    def _with(self, name: str, value: float) -> Mechanism:
        if name == "noise":
            return replace(self, mechanism=self.mechanism._with(name, value))
        return replace(self, sampling_probability=value)

    def _scales_together(self) -> bool:
        return self.mechanism._scales_together()

    def _group_size(self) -> int:
        return self.mechanism._group_size()

    def _has_replaced(self) -> bool:
        return self.mechanism._has_replaced()

    def _missing_mass(self) -> str | None:
        return self.mechanism._missing_mass()


@public
@dataclass(frozen=True, slots=True)
class PoissonSubsampled(_Subsampled):
    """A mechanism on a Poisson sample.

    With (P, Q) the pair of the mechanism and p the sampling probability, removing a record has the
    pair (P, (1-p)P + pQ), adding one ((1-p)Q + pP, Q) [1]_. That is for one record: of a
    `GroupPoissonSubsampledGaussian` it is the same with the product of both probabilities.

    Parameters
    ----------
    mechanism : Mechanism or iterable
        What runs on the sample: a mechanism, or several that run *on the same sample*, as `compose`
        takes them. Several become one `Composed`. Two samples of one mechanism each are not the
        same: see the notes.
    sampling_probability : float
        Probability in [0, 1] with which each record enters the sample, independently of all others.

    Raises
    ------
    TypeError, ValueError
        `mechanism` is no mechanism, or `sampling_probability` is out of its range. `compose` raises
        ValueError for a mechanism whose subsampling is not defined (`RandomizedResponse`,
        `SubsampledWithoutReplacement`, `TruncatedPoissonSubsampledGaussian`), and for a
        probability, or a product of those of samples of samples, between 0 and 2^-1022.

    Notes
    -----
    If a record is replaced, the pair of Gaussian noise is known exactly. That of other mechanisms
    is the one of `SubsampledWithoutReplacement`, from above; its lower bounds are those of a record
    that is replaced by one without any effect. Samples of samples, and compositions that have
    samples among their parts, have no such pair here, but for Gaussian noise.

    If two mechanisms run on one sample, a record is seen by both or by neither. A list of two
    `PoissonSubsampled` has a sample of its own for each, and its epsilon is too small for one
    sample: a bound of another run.

    References
    ----------
    .. [1] Zhu, Dong, Wang, "Optimal accounting of differential privacy via characteristic
       function", AISTATS 2022, arXiv:2106.08567, Theorem 11.

    """

    if TYPE_CHECKING:

        def __init__(self, mechanism: Mechanisms, sampling_probability: float) -> None: ...

    def _key(self) -> tuple[Any, ...]:
        return ("PoissonSubsampled", self.mechanism._key(), self.sampling_probability)

    def _handle(self) -> core.Handle:
        return core.poisson_subsampled(self.mechanism._handle(), self.sampling_probability)


@public
@dataclass(frozen=True, slots=True)
class SubsampledWithoutReplacement(_Subsampled):
    """A mechanism on a sample of fixed size, for ``neighbors="replace-one"``.

    With (P, Q) the pair of the mechanism where a record is replaced, p the sampling probability and
    H_a the hockey-stick divergence, delta is H_a((1-p)P + pQ, P) at a = e^epsilon >= 1, and what
    is symmetric to it at negative epsilon [1]_.

    Parameters
    ----------
    mechanism : Mechanism or iterable
        What runs on the sample: noise without sampling, `PureDP`, `ApproximateDP`, `BoundedRange`,
        a `RandomizedResponse` whose answers are published without names, or several mechanisms
        that run on the same sample (`BoundedRange` and `RandomizedResponse` only alone).
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

    Who is in the sample must not be seen. Answers of a `RandomizedResponse` tell it unless they are
    published without names and in no order that goes by them; with names there is no amplification,
    and the mechanism is the `RandomizedResponse` itself.

    References
    ----------
    .. [1] Zhu, Dong, Wang, "Optimal accounting of differential privacy via characteristic
       function", AISTATS 2022, arXiv:2106.08567; Lebeda, Regehr, Kamath, Steinke, "Avoiding
       pitfalls for privacy accounting of subsampled mechanisms under composition", 2024,
       arXiv:2405.20769.

    """

    if TYPE_CHECKING:

        def __init__(self, mechanism: Mechanisms, sampling_probability: float) -> None: ...

    def _key(self) -> tuple[Any, ...]:
        return ("SubsampledWithoutReplacement", self.mechanism._key(), self.sampling_probability)

    def _handle(self) -> core.Handle:
        if not self._has_replaced():
            raise ValueError(
                "samples of fixed size are of replaced records, of which no pair is known for "
                "counts that are not centred, random allocations and Poisson samples"
            )
        return core.subsampled_without_replacement(
            self.mechanism._handle(), self.sampling_probability
        )


@public
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
        self._check(
            noise_multiplier=_arguments.non_negative,
            sampling_probability=_arguments.probability,
        )

    def _key(self) -> tuple[Any, ...]:
        return ("PoissonSubsampled", ("Gaussian", self.noise_multiplier), self.sampling_probability)

    def _handle(self) -> core.Handle:
        return core.poisson_subsampled(
            core.gaussian(self.noise_multiplier), self.sampling_probability
        )


@public
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
        two data sets. The exact one: see the notes.
    maximum_batch_size : int
        Most records that are kept, in [1, 2^32].

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range.

    Notes
    -----
    Epsilon rises with the number of records, and falls again, so that an overestimate of
    `dataset_size` is not safe, nor is an underestimate. Where records are added or removed, their
    number is private: the guarantee is one for data sets of n records, with ``dataset_size=n``
    where one is removed and n + 1 where one is added. For all data sets of at most so many records
    it is the greatest epsilon over all sizes up to that.

    References
    ----------
    .. [1] Ganesh, "Tighter privacy analysis for truncated Poisson sampling", 2025,
       arXiv:2508.15089. Derived in PAIRS.md, section 6.

    """

    noise_multiplier: float
    sampling_probability: float
    dataset_size: int
    maximum_batch_size: int

    _FIELDS: ClassVar[dict[str, str]] = {"noise": "noise_multiplier"}

    def __post_init__(self) -> None:
        self._check(
            noise_multiplier=_arguments.non_negative,
            sampling_probability=_arguments.probability,
            dataset_size=_size,
            maximum_batch_size=_size,
        )

    def _handle(self) -> core.Handle:
        return core.truncated_poisson_gaussian(
            self.noise_multiplier,
            self.sampling_probability,
            self.dataset_size,
            self.maximum_batch_size,
        )


@public
@dataclass(frozen=True, slots=True)
class GroupPoissonSubsampledGaussian(Mechanism):
    """`PoissonSubsampledGaussian` for neighbours that differ by a group of records.

    All records of the group are in one of the data sets and none in the other. How many of them are
    in the sample is binomial, and so many times the sensitivity is the greatest change of the
    query: a `MixtureOfGaussians` [1]_. A guarantee for such groups, which composes with others for
    groups of the same size alone: all other mechanisms are stated for one record.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the sensitivity to one record, finite and >= 0.
    sampling_probability : float
        Probability in [0, 1] with which each record enters the sample, independently of all others.
    group_size : int
        Records of the group, in [1, 4095]. Of 1 it is a `PoissonSubsampledGaussian`. A sample must
        have no member of the group with at least the probability 2^-900.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range. `compose`, an `Accountant`, and all
        else that composes raise ValueError for groups of different sizes, or a group and a record.

    Notes
    -----
    A Poisson sample of it is the same with the product of both probabilities: each member of the
    group enters the sample by itself, not all or none of them.

    References
    ----------
    .. [1] Ganesh, "Tight group-level DP guarantees for DP-SGD with sampling via mixture of
       Gaussians mechanisms", 2024, arXiv:2401.10294, Theorem 3.1.

    """

    noise_multiplier: float
    sampling_probability: float
    group_size: int

    _FIELDS: ClassVar[dict[str, str]] = {
        "noise": "noise_multiplier",
        "sampling_probability": "sampling_probability",
    }

    def __post_init__(self) -> None:
        self._check(
            noise_multiplier=_arguments.non_negative,
            sampling_probability=_arguments.probability,
            group_size=partial(_arguments.integer, least=1, greatest=_arguments.MAX_COMPONENTS - 1),
        )

    def _group_size(self) -> int:
        return self.group_size

    def _handle(self) -> core.Handle:
        return core.group_gaussian(
            self.noise_multiplier, self.sampling_probability, self.group_size
        )


@public
@dataclass(frozen=True, slots=True)
class GroupSubsampledWithoutReplacementGaussian(Mechanism):
    """Gaussian noise on samples of a fixed size, for neighbours that differ by a group of records.

    All records of the group are in one of the data sets and none in the other. The samples of both
    have `batch_size` records. How many members are in the sample is hypergeometric, and each takes
    the place of another record, so that the query changes by up to twice the sensitivity for each
    [1]_. A guarantee for such groups, which composes with others for groups of the same size alone.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the sensitivity to one record that is added or removed,
        finite and >= 0.
    dataset_size : int
        Records of the larger data set, with the group, at most 2^32. The exact number; without the
        group there are at least `batch_size`.
    batch_size : int
        Records of a sample, in [1, 2^32]. Each subset of so many has the same probability.
    group_size : int
        Records of the group, in [2, 4095]. A sample must have no member of the group with at least
        the probability 2^-900.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range. What composes raises ValueError for
        groups of different sizes, or a group and a record, and for replaced records.

    See Also
    --------
    SubsampledWithoutReplacement : The same for one record that is replaced.
    GroupPoissonSubsampledGaussian : A group on Poisson samples, which cost less.

    Notes
    -----
    Two data sets attain it: the group's records add the sensitivity, and all others take it away.
    Poisson samples of it are refused: a sample of a sample has no fixed share of its records.

    References
    ----------
    .. [1] After Ganesh, "Tight group-level DP guarantees for DP-SGD with sampling via mixture of
       Gaussians mechanisms", 2024, arXiv:2401.10294. Derived in PAIRS.md, section 4.

    Examples
    --------
    >>> import prvcore as prv
    >>> step = prv.GroupSubsampledWithoutReplacementGaussian(
    ...     noise_multiplier=4.0, dataset_size=60_000, batch_size=256, group_size=3
    ... )
    >>> f"{prv.eps_from_delta(step, 1e-5, counts=1000):.2f}"
    '[0.81, 0.82]'

    """

    noise_multiplier: float
    dataset_size: int
    batch_size: int
    group_size: int

    _FIELDS: ClassVar[dict[str, str]] = {"noise": "noise_multiplier"}

    def __post_init__(self) -> None:
        self._check(
            noise_multiplier=_arguments.non_negative,
            dataset_size=_size,
            batch_size=_size,
            group_size=partial(_arguments.integer, least=2, greatest=_arguments.MAX_COMPONENTS - 1),
        )
        if self.dataset_size - self.group_size < self.batch_size:
            raise ValueError(
                "batch_size must be at most the number of records without the group, "
                f"{self.dataset_size - self.group_size}, got {self.batch_size}"
            )

    def _group_size(self) -> int:
        return self.group_size

    def _handle(self) -> core.Handle:
        return core.fixed_size_group_gaussian(
            self.noise_multiplier, self.dataset_size, self.batch_size, self.group_size
        )
