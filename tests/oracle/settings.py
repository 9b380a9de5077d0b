"""Random settings: how often each kind is drawn, and by what."""

import numpy as np

from . import compositions, points, questions
from .mechanisms import draw_discrete_step, draw_mechanism, draw_replaced_step, draw_smooth_step
from .parameters import draw_count, draw_options, log_uniform, upto
from .setting import epsilon_and_near, setting_of

# how often each kind is drawn
KINDS = {
    "sampled gaussian": 6,
    "gaussian": 1,
    "very many gaussian": 1,
    "mixture": 2,
    "laplace": 1,
    "sampled laplace": 1,
    "pure": 1,
    "bounded range": 1,
    "randomized response": 1,
    "approximate": 1,
    "sampled approximate": 1,
    "discrete gaussian": 1,
    "discrete laplace": 1,
    "sampled discrete": 2,
    "table": 1,
    "sampled table": 1,
    "own cdfs": 1,
    "own curve": 1,
    "list": 3,
    "discrete list": 2,
    "truncated": 1,
    "replaced": 2,
    "replaced poisson": 1,
    "fixed size": 1,
    "replaced list": 1,
    "negative epsilons": 3,
    "beside the mass at infinity": 3,
    "tiny losses": 2,
    "tiny probabilities": 1,
    "greatest loss": 3,
    "beside a knot": 4,
    "crowd": 0.15,
    "distinct masses at infinity": 1,
    "distinct steps": 0.15,
    "history": 3,
    "group": 1,
    "group sampled again": 1,
    "sample of a sample": 1,
    "nesting": 2,
    "gaussians on one sample": 1,
    "bounded range composed": 2,
    "fixed size composed": 2,
    "small data sets": 2,
    "records in the plane": 2,
    "power": 2,
    "gaussian mu": 1,
    "renyi": 3,
    "calibration": 0.6,
    "mean-matching": 1,
    "explicit mesh": 2,
}


# which function draws settings of a kind with steps or questions of its own
SPECIAL = {
    "negative epsilons": points.negative,
    "beside the mass at infinity": points.beside_infinite,
    "tiny losses": points.tiny,
    "tiny probabilities": points.tiny_probabilities,
    "greatest loss": points.greatest,
    "beside a knot": points.beside_knot,
    "crowd": points.crowd,
    "distinct masses at infinity": compositions.distinct_masses,
    "distinct steps": compositions.distinct_steps,
    "history": compositions.history,
    "group": compositions.group,
    "group sampled again": compositions.group,
    "sample of a sample": compositions.twice,
    "nesting": compositions.nesting,
    "gaussians on one sample": compositions.gaussians_on_one_sample,
    "bounded range composed": compositions.bounded_ranges,
    "fixed size composed": compositions.fixed_size,
    "small data sets": compositions.small_data,
    "records in the plane": compositions.records_in_plane,
    "power": questions.power,
    "gaussian mu": questions.mu,
    "renyi": questions.renyi,
    "calibration": questions.calibration,
    "mean-matching": questions.mean_matching,
    "explicit mesh": questions.explicit_mesh,
}


def draw(seed, number, kinds=KINDS):
    """Return setting `number` of a seed, of one of the kinds; whatever others were drawn."""
    rng = np.random.default_rng([seed, number])
    names = tuple(kinds)
    weights = np.array([KINDS[name] for name in names])
    kind = str(rng.choice(names, p=weights / weights.sum()))
    if kind in SPECIAL:
        return SPECIAL[kind](rng, kind)
    return setting_of(rng, kind, _steps(rng, kind), epsilon_and_near(rng), draw_options(rng, kind))


def _steps(rng, kind):
    if kind == "list":
        return tuple(draw_smooth_step(rng) for _ in range(rng.integers(2, upto(rng, 12) + 1)))
    if kind == "replaced list":
        return tuple(draw_replaced_step(rng) for _ in range(rng.integers(2, 6)))
    if kind == "discrete list":
        return tuple(draw_discrete_step(rng) for _ in range(rng.integers(2, 5)))
    count = (
        int(log_uniform(rng, 1e6, 2**53)) if kind == "very many gaussian" else draw_count(rng, kind)
    )
    return ((draw_mechanism(rng, kind, count), count),)
