"""The algorithms of Gopi, Lee, Wutschitz (arXiv:2106.02848), written down literally."""

from .compose_prv import (
    LatticePmf,
    compose,
    delta,
    discretize,
    epsilon,
    epsilon_bounds,
    mesh_size,
    renyi_epsilon,
    truncation,
)
from .subsampled_gaussian import SubsampledGaussian

__all__ = [
    "LatticePmf",
    "SubsampledGaussian",
    "compose",
    "delta",
    "discretize",
    "epsilon",
    "epsilon_bounds",
    "mesh_size",
    "renyi_epsilon",
    "truncation",
]
