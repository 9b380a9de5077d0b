"""Random mechanisms of all kinds, as people compose them."""

import math


def log_uniform(random, low, high):
    """Draw a number whose logarithm is uniform."""
    return math.exp(random.uniform(math.log(low), math.log(high)))


def rounded(random, low, high):
    """Draw as `log_uniform`, to 4 digits."""
    return float(f"{log_uniform(random, low, high):.4g}")


def sampled_gaussian(prvcore, random):
    """Draw a step of DP-SGD."""
    noise, probability = rounded(random, 0.3, 20), rounded(random, 1e-6, 0.5)
    return prvcore.PoissonSubsampledGaussian(noise, probability)


def mechanism(prvcore, random):
    """Draw a mechanism of any kind; steps of DP-SGD are the likeliest."""
    if random.random() < 0.3:
        return sampled_gaussian(prvcore, random)
    return random.choice(_KINDS)(prvcore, random)


def _gaussian(prvcore, random):
    return prvcore.Gaussian(rounded(random, 0.3, 200))


def _laplace(prvcore, random):
    return prvcore.Laplace(rounded(random, 0.3, 200))


def _discrete_gaussian(prvcore, random):
    return prvcore.DiscreteGaussian(rounded(random, 0.5, 100), random.choice([1, 1, 2, 5]))


def _discrete_laplace(prvcore, random):
    return prvcore.DiscreteLaplace(rounded(random, 0.5, 100), random.choice([1, 1, 2, 5]))


def _pure(prvcore, random):
    return prvcore.PureDP(rounded(random, 1e-3, 5))


def _approximate(prvcore, random):
    return prvcore.ApproximateDP(rounded(random, 1e-3, 5), rounded(random, 1e-12, 1e-6))


def _sampled_laplace(prvcore, random):
    base = prvcore.Laplace(rounded(random, 0.3, 20))
    return prvcore.PoissonSubsampled(base, rounded(random, 1e-4, 0.5))


def _sampled_discrete_gaussian(prvcore, random):
    base = prvcore.DiscreteGaussian(rounded(random, 0.5, 20))
    return prvcore.PoissonSubsampled(base, rounded(random, 1e-4, 0.5))


def _truncated(prvcore, random):
    records, probability = int(log_uniform(random, 1e3, 1e6)), rounded(random, 1e-4, 0.1)
    most = max(1, int(records * probability * random.uniform(0.9, 1.5)))
    noise = rounded(random, 0.5, 10)
    return prvcore.TruncatedPoissonSubsampledGaussian(noise, probability, records, most)


def _mixture(prvcore, random):
    size = random.randint(2, 8)
    centers = [round(random.uniform(0, 3), 3) for _ in range(size)]
    weights = [random.random() for _ in range(size)]
    weights = [weight / sum(weights) for weight in weights]
    return prvcore.MixtureOfGaussians(rounded(random, 0.5, 10), centers, weights)


def _bounded_range(prvcore, random):
    return prvcore.BoundedRange(rounded(random, 1e-3, 3))


_KINDS = (
    _gaussian,
    _laplace,
    _discrete_gaussian,
    _discrete_laplace,
    _pure,
    _approximate,
    _sampled_laplace,
    _sampled_discrete_gaussian,
    _truncated,
    _mixture,
    _bounded_range,
)
