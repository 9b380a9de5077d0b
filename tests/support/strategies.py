"""Strategies of hypothesis for parameters, mechanisms and compositions."""

import math

import numpy as np
from hypothesis import strategies as st

import prvcore as prv


def log_uniform(low, high):
    return st.floats(math.log(low), math.log(high)).map(math.exp)


@st.composite
def tables(draw):
    """Draw a FromTable: Q's masses, and losses moved up until P has no more mass than 1."""
    size = draw(st.integers(1, 5))
    gaps = np.array(draw(st.lists(log_uniform(1e-3, 2.0), min_size=size, max_size=size)))
    masses = np.array(draw(st.lists(log_uniform(1e-4, 1.0), min_size=size, max_size=size)))
    infinite = draw(st.sampled_from([0.0, 1e-9]))
    masses *= (1.0 - infinite) / masses.sum()
    losses = np.cumsum(gaps)
    losses += np.log((masses * np.exp(-losses)).sum()) + draw(st.sampled_from([1e-9, 0.1]))
    return prv.FromTable(losses, masses, infinite)


noises = log_uniform(0.3, 20.0)
probabilities = log_uniform(1e-4, 1.0)
counts = log_uniform(1.0, 3000.0).map(int)
deltas = log_uniform(1e-12, 0.3)
sensitivities = st.integers(1, 3)
parameters = st.tuples(noises, log_uniform(1e-12, 1e-3), probabilities, sensitivities)
# what is added to a parameter, as a share of it: close ones too, or a test would see no small fault
shares = log_uniform(1e-6, 1.0)

gaussians = st.builds(prv.PoissonSubsampledGaussian, noises, probabilities)
laplaces = st.builds(prv.PoissonSubsampled, st.builds(prv.Laplace, noises), probabilities)
unsampled = st.one_of(
    st.builds(prv.Gaussian, noises),
    st.builds(prv.Laplace, noises),
    st.builds(prv.DiscreteGaussian, noises, sensitivities),
    st.builds(prv.DiscreteLaplace, noises, sensitivities),
    st.builds(prv.PureDP, log_uniform(0.01, 2.0)),
    st.builds(prv.ApproximateDP, log_uniform(0.01, 2.0), log_uniform(1e-12, 1e-3)),
    tables(),
)
mechanisms = st.one_of(
    unsampled, gaussians, st.builds(prv.PoissonSubsampled, unsampled, probabilities)
)
compositions = st.lists(st.tuples(mechanisms, counts), min_size=1, max_size=3)
