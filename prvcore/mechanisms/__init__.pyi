# What __init__.py loads when it is asked for: for type checkers and editors.

from prvcore.mechanisms.allocated import BallsInBins, RandomAllocation
from prvcore.mechanisms.base import Mechanism
from prvcore.mechanisms.composed import Composed
from prvcore.mechanisms.custom import FromCDFs, FromPrivacyCurve, FromTable
from prvcore.mechanisms.distribution import FromDistribution
from prvcore.mechanisms.guarantees import (
    ApproximateDP,
    BoundedRange,
    PureDP,
    RandomizedResponse,
)
from prvcore.mechanisms.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    MixtureOfGaussians,
    NoisyCount,
)
from prvcore.mechanisms.subsampled import (
    GroupPoissonSubsampledGaussian,
    GroupSubsampledWithoutReplacementGaussian,
    PoissonSubsampled,
    PoissonSubsampledGaussian,
    SubsampledWithoutReplacement,
    TruncatedPoissonSubsampledGaussian,
)

__all__ = [
    "ApproximateDP",
    "BallsInBins",
    "BoundedRange",
    "Composed",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "FromCDFs",
    "FromDistribution",
    "FromPrivacyCurve",
    "FromTable",
    "Gaussian",
    "GroupPoissonSubsampledGaussian",
    "GroupSubsampledWithoutReplacementGaussian",
    "Laplace",
    "Mechanism",
    "MixtureOfGaussians",
    "NoisyCount",
    "PoissonSubsampled",
    "PoissonSubsampledGaussian",
    "PureDP",
    "RandomAllocation",
    "RandomizedResponse",
    "SubsampledWithoutReplacement",
    "TruncatedPoissonSubsampledGaussian",
]
