"""Mechanisms: what is composed.

Each is an immutable value: equal to another of the same parameters, hashable, and picklable where
its parameters are. All losses, epsilons and scales of loss are in nats.
"""

from prvcore._names import loaded_when_asked

# The module of each mechanism, which is loaded when the first of its mechanisms is asked for.
HOMES = {
    "allocated": ("BallsInBins", "RandomAllocation"),
    "base": ("Mechanism",),
    "composed": ("Composed",),
    "distribution": ("FromDistribution",),
    "custom": ("FromCDFs", "FromPrivacyCurve", "FromTable"),
    "guarantees": ("ApproximateDP", "BoundedRange", "PureDP", "RandomizedResponse"),
    "noise": (
        "DiscreteGaussian",
        "DiscreteLaplace",
        "Gaussian",
        "Laplace",
        "MixtureOfGaussians",
        "NoisyCount",
    ),
    "subsampled": (
        "GroupPoissonSubsampledGaussian",
        "GroupSubsampledWithoutReplacementGaussian",
        "PoissonSubsampled",
        "PoissonSubsampledGaussian",
        "SubsampledWithoutReplacement",
        "TruncatedPoissonSubsampledGaussian",
    ),
}

__all__ = sorted(name for names in HOMES.values() for name in names)
__getattr__, __dir__ = loaded_when_asked(__name__, HOMES)
