"""From a mechanism of prvcore, of which only the parameters are read, to the law of its loss.

Parameters are the exact doubles. Where a record is replaced, noise has twice the sensitivity to one
that is added or removed; what else has a pair for that is written down in `replaced`.
"""

from math import comb

import numpy as np
from flint import arb

from .balls import ONE, ZERO, exact, total
from .batches import truncation
from .laws import (
    APART,
    ChoiceLaw,
    DiscretePair,
    GaussianPair,
    LaplacePair,
    MixtureLaw,
    ProgressionLaw,
    RangePair,
)

MANY = 4096  # atoms of a table
FAR = 39  # standard deviations of discrete Gaussian noise that are written down


def law_of(mechanism, direction):
    """Return the law of a mechanism's loss for 'add', 'remove' or 'replace-one'."""
    if direction == "replace-one":
        return replaced(mechanism)
    name = type(mechanism).__name__
    if name == "MixtureOfGaussians":
        weights = [exact(w) for w in mechanism.probabilities]
        weights = [w / total(weights) for w in weights]
        centers = [exact(c) for c in mechanism.sensitivities]
        noise = exact(mechanism.noise_multiplier)
        return mixture(noise, centers, weights, direction)
    if name == "TruncatedPoissonSubsampledGaussian":
        never, cut, kept = truncation(mechanism)
        noise, p = exact(mechanism.noise_multiplier), exact(mechanism.sampling_probability)
        return choice(
            (never, lambda: gaussian(noise).sampled(p, direction)),
            (cut, lambda: gaussian(noise, 2).sampled(kept, direction)),
        )
    if name == "FromTable" and len(mechanism.losses) > MANY:
        crowd = progression(mechanism)
        if crowd is not None:
            return crowd
    base, probability = split(mechanism)
    return base.sampled(probability, direction)


def progression(table):
    """Return the law of a table whose losses but the first advance by equal steps, or None."""
    losses, masses = table.losses[1:], table.probabilities[1:]
    steps = np.diff(losses)
    even = (steps == steps[0]).all() and (losses[0] + steps[0] == losses[1]).all()
    if not even or not (masses == masses[0]).all() or table.mass_at_infinity:
        return None
    whole = exact(table.probabilities[0]) + exact(masses[0]) * len(masses)
    parts = exact(table.probabilities[0]) / whole, exact(masses[0]) / whole
    return ProgressionLaw(exact(table.losses[0]), parts[0], losses, parts[1])


def gaussian(noise, times=1):
    """Return the pair of Gaussian noise whose mean moves by `times`, or of no noise."""
    return GaussianPair((times / noise) ** 2) if noise > 0 else APART


def mixture(noise, centers, weights, direction):
    """Return the law of a mixture of normal distributions or, without noise, of points."""
    if noise > 0:
        return MixtureLaw(noise, centers, weights, direction)
    moved = total(w for c, w in zip(centers, weights, strict=True) if c > 0)
    return APART.sampled(moved, direction)


class Group:
    """A group of records of a Gaussian mechanism on a Poisson sample."""

    def __init__(self, noise, size):
        self.noise, self.size = noise, size

    def sampled(self, p, direction):
        """Each of the group enters on its own: how many do is binomial."""
        if p == 1:
            return gaussian(self.noise, self.size).sampled(ONE, direction)
        size = self.size
        weights = [comb(size, i) * p**i * (1 - p) ** (size - i) for i in range(size + 1)]
        return mixture(self.noise, [arb(i) for i in range(size + 1)], weights, direction)


def choice(*parts):
    """Return the law of a choice that is known, of (probability, how to make the law)."""
    laws = [(weight, make()) for weight, make in parts if weight > 0]
    return laws[0][1] if len(laws) == 1 else ChoiceLaw(laws)


def replaced(mechanism):
    """Return the law of a mechanism's loss where one record is in the place of another."""
    name = type(mechanism).__name__
    if name == "SubsampledWithoutReplacement":
        p = exact(mechanism.sampling_probability)
        return (
            split(mechanism.mechanism, 2)[0].folded(p) if p < 1 else replaced(mechanism.mechanism)
        )
    if name == "TruncatedPoissonSubsampledGaussian":
        never, cut, kept = truncation(mechanism)
        noise, p = exact(mechanism.noise_multiplier), exact(mechanism.sampling_probability)
        wide = gaussian(noise, 2)
        return choice(
            (never, lambda: mirrored(noise, p)),
            (cut, lambda: wide.folded(kept) if kept < 1 else wide.sampled(ONE, "remove")),
        )
    base, probability = split(mechanism, 2)
    if probability == 1:
        return base.sampled(ONE, "remove")
    if base is APART:
        return mirrored(ZERO, probability)
    if not isinstance(base, GaussianPair):
        raise NotImplementedError(name)
    return mirrored(2 / base.mu, probability)


def mirrored(noise, p):
    """Return the law of (1-p) N(0, s^2) + p N(1, s^2) against (1-p) N(0, s^2) + p N(-1, s^2)."""
    if p == 1:
        return gaussian(noise, 2).sampled(ONE, "remove")
    if not noise > 0:  # at 0, where neither is sampled, or told apart
        return APART.folded(p)
    return MixtureLaw(noise, [ZERO, ONE], [1 - p, p], "replace-one")


def split(mechanism, times=1):
    """Return the pair of a mechanism without its subsampling, and the sampling probability.

    Noise gets `times` the sensitivity. Samples of samples are samples with the product of the
    probabilities.
    """
    name = type(mechanism).__name__
    if name in ("FromCDFs", "FromPrivacyCurve"):  # own functions say what they are like
        function = mechanism.cdf_q if name == "FromCDFs" else mechanism.delta
        return split(function.like)
    if name == "PoissonSubsampledGaussian":
        noise = exact(mechanism.noise_multiplier)
        return gaussian(noise, times), exact(mechanism.sampling_probability)
    if name == "GroupPoissonSubsampledGaussian":
        noise, size = exact(mechanism.noise_multiplier), mechanism.group_size
        return Group(noise, size), exact(mechanism.sampling_probability)
    if name == "PoissonSubsampled":
        base, probability = split(mechanism.mechanism, times)
        return base, probability * exact(mechanism.sampling_probability)
    if name == "Composed":  # of Gaussian noise: one of these
        parts = [(exact(each.noise_multiplier), count) for each, count in mechanism.mechanisms]
        if any(not noise > 0 for noise, _ in parts):
            return APART, ONE
        return GaussianPair(total(count * (times / noise) ** 2 for noise, count in parts)), ONE
    if name == "Gaussian":
        return gaussian(exact(mechanism.noise_multiplier), times), ONE
    if name == "Laplace":
        scale, shift = exact(mechanism.scale), times * exact(mechanism.sensitivity)
        return (LaplacePair(shift / scale) if scale > 0 else APART), ONE
    if name == "BoundedRange":
        return RangePair(exact(mechanism.epsilon)), ONE
    return discrete(mechanism, name, times), ONE


def discrete(mechanism, name, times):
    """Return the pair of a mechanism with finitely many losses."""
    if name in ("PureDP", "ApproximateDP"):
        epsilon, delta = exact(mechanism.epsilon), exact(getattr(mechanism, "delta", 0.0))
        high, rest = 1 / (1 + (-epsilon).exp()), 1 - delta
        q = [rest * (1 - high), rest * high]
        return DiscretePair(q, q[::-1], [-epsilon, epsilon], delta, delta, step=2 * epsilon)
    if name == "RandomizedResponse":
        epsilon, others = exact(mechanism.epsilon), mechanism.categories - 1
        high = 1 / (1 + others * (-epsilon).exp())
        low = high * (-epsilon).exp()
        if others == 1:
            return DiscretePair([low, high], [high, low], [-epsilon, epsilon], step=2 * epsilon)
        q, losses = [low, (others - 1) * low, high], [-epsilon, ZERO, epsilon]
        return DiscretePair(q, q[::-1], losses, step=epsilon)
    if name == "DiscreteLaplace":
        # outcomes below 0 have the same loss, and so have those above the shift s
        s, rate = times * mechanism.sensitivity, 1 / exact(mechanism.scale)
        tail = 1 / (1 + (-rate).exp())
        q = [tail * -(-rate).expm1() * (-rate * (s - x)).exp() for x in range(s + 1)]
        q[0], q[-1] = tail * (-rate * s).exp(), tail
        losses = [(2 * x - s) * rate for x in range(s + 1)]
        return DiscretePair(q, q[::-1], losses, step=2 * rate)
    if name == "DiscreteGaussian":
        s, variance = times * mechanism.sensitivity, exact(mechanism.scale) ** 2
        reach = int(FAR * mechanism.scale) + 3
        half = [(-arb(x * x) / (2 * variance)).exp() for x in range(reach + s + 1)]
        # beyond: each term is below the one before by e^(-reach / variance) at least
        ratio = (-arb(reach) / variance).exp()
        rest = 2 * half[reach] * ratio / (1 - ratio)
        whole = 2 * total(half[: reach + 1]) - half[0]
        whole = whole.union(whole + rest)
        x = range(-reach, reach + s + 1)
        far = [
            (-arb(n * n) / (2 * variance)).exp() for n in range(reach + s + 1, reach + 2 * s + 1)
        ]
        half += far
        p = [half[abs(n)] / whole for n in x]
        q = [half[abs(n - s)] / whole for n in x]
        losses = [arb(s * (2 * n - s)) / (2 * variance) for n in x]
        return DiscretePair(q, p, losses, missing=2 * rest / whole, step=arb(s) / variance)
    if name == "FromTable":
        infinite = exact(mechanism.mass_at_infinity)
        losses = [exact(loss) for loss in mechanism.losses]
        masses = [exact(mass) for mass in mechanism.probabilities]
        whole = total(masses) + infinite
        q = [mass / whole for mass in masses]
        p = [mass * (-loss).exp() for mass, loss in zip(q, losses, strict=True)]
        beyond = total(p)
        if beyond > 1:  # P's masses are divided by their sum
            p = [mass / beyond for mass in p]
            losses = [loss + beyond.log() for loss in losses]
        only_p = (1 - total(p)).max(ZERO)
        return DiscretePair(q, p, losses, infinite / whole, only_p)
    raise NotImplementedError(name)
