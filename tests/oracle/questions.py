"""Settings that are asked for other things than epsilon and delta alone."""

import numpy as np

import prvcore as prv

from .mechanisms import draw_finite_kind, draw_mechanism
from .parameters import draw_count, draw_neighbors, draw_width_options, log_uniform, upto
from .setting import Setting, epsilon_and_near, setting_of


def power(rng, kind):
    base = str(rng.choice(["gaussian", "gaussian", "approximate", "pure", "table", "laplace"]))
    count = draw_count(rng, base, 200)
    if base == "table":
        count = 1
    steps = ((draw_mechanism(rng, base, count), count),)
    rates = [log_uniform(rng, 1e-30, 1.0), log_uniform(rng, 1e-6, 1.0)]
    rates.append(float(rng.choice([0.0, 1.0, 0.5])))
    questions = [("power", x) for x in rates] + [("trade_off", x) for x in rates[:2]]
    return setting_of(rng, kind, steps, questions, draw_width_options(rng))


def mu(rng, kind):
    base = str(rng.choice(["gaussian", "gaussian", "sampled gaussian", "pure", "approximate"]))
    count = draw_count(rng, base, 200)
    steps = ((draw_mechanism(rng, base, count), count),)
    questions = [("mu", log_uniform(rng, 1e-12, 0.3)), ("mu", log_uniform(rng, 1e-4, 0.9))]
    return setting_of(rng, kind, steps, questions, draw_width_options(rng), patience=2.0)


def renyi(rng, kind):
    chance = rng.random()
    count = int(log_uniform(rng, 1, 1000))
    if chance < 0.35:
        size = int(rng.integers(2, 6))
        centers = np.cumsum(rng.uniform(0.1, 4.0, size)) - 0.1
        weights = rng.dirichlet(np.ones(size))
        if rng.random() < 0.5:
            centers[0], weights = 0.0, weights ** float(rng.choice([1.0, 3.0, 6.0]))
        noise = log_uniform(rng, 0.4, 4.0)
        step = prv.MixtureOfGaussians(noise, centers, weights / weights.sum())
    elif chance < 0.6:
        size = int(rng.integers(2, 8))
        noise, p = log_uniform(rng, 0.4, 3.0), log_uniform(rng, 1e-6, 0.9)
        step = prv.GroupPoissonSubsampledGaussian(noise, p, size)
    elif chance < 0.85:
        step = prv.PoissonSubsampledGaussian(log_uniform(rng, 0.15, 3.0), log_uniform(rng, 1e-7, 1))
    else:
        kinds = ["gaussian", "laplace", "pure", "table", "sampled discrete", "bounded range"]
        step = draw_mechanism(rng, str(rng.choice(kinds)), count)
    orders = [float(rng.choice([2.0, 3.0, 4.0, 1.5, 1.25, 6.0, 17.0])) for _ in range(2)]
    options = {"neighbors": str(rng.choice(["add", "remove", "add-or-remove"]))}
    return setting_of(rng, kind, ((step, count),), [("renyi", x) for x in orders], options)


def calibration(rng, kind):
    delta, epsilon = log_uniform(rng, 1e-9, 1e-2), log_uniform(rng, 0.1, 8.0)
    p = log_uniform(rng, 1e-3, 0.5)
    step, parameter, count = [
        lambda: (prv.Gaussian(1.0), "noise_multiplier", int(log_uniform(rng, 1, 1000))),
        lambda: (prv.PoissonSubsampledGaussian(1.0, p), "noise_multiplier", upto(rng, 1000)),
        lambda: (prv.PoissonSubsampledGaussian(1.0, p), "sampling_probability", upto(rng, 1000)),
        lambda: (prv.PoissonSubsampledGaussian(max(1.0, 30 * p), p), "steps", 1),
        lambda: (prv.Laplace(1.0), "scale", int(rng.integers(1, 20))),
        lambda: (prv.PureDP(log_uniform(rng, 0.01, 0.2)), "steps", 1),
        lambda: (prv.DiscreteGaussian(log_uniform(rng, 1.0, 3.0)), "scale", 1),
        lambda: (prv.BoundedRange(log_uniform(rng, 0.05, 0.3)), "steps", 1),
    ][rng.integers(8)]()
    target = {"epsilon": epsilon, "delta": delta, "parameter": parameter}
    options = {"neighbors": str(rng.choice(["add", "remove", "add-or-remove"]))}
    questions = (("calibrate", tuple(target.items())),)
    return Setting(kind, ((step, count),), questions, options, ("curve",), patience=10.0)


def mean_matching(rng, kind):
    base = str(rng.choice(["sampled gaussian", "gaussian", "laplace", "pure", "approximate"]))
    count = draw_count(rng, base, 1e4)
    options = {"neighbors": draw_neighbors(rng), "discretization": "mean-matching"}
    options["eps_error"] = log_uniform(rng, 1e-2, 3.0)
    if rng.random() < 0.5:
        options["delta_error"] = log_uniform(rng, 1e-12, 1e-6)
    questions = [("epsilon", log_uniform(rng, 1e-8, 0.5)), ("share", 1.0), ("share", 0.5)]
    return setting_of(rng, kind, ((draw_mechanism(rng, base, count), count),), questions, options)


def explicit_mesh(rng, kind):
    base = draw_finite_kind(rng)
    count = draw_count(rng, base, 1e3)
    options = {"neighbors": draw_neighbors(rng), "mesh_size": log_uniform(rng, 1e-3, 10.0)}
    if rng.random() < 0.5:
        options["engine"] = str(rng.choice(["convolution", "spectrum"]))
    questions = [*epsilon_and_near(rng), ("delta", log_uniform(rng, 1e-3, 5.0))]
    return setting_of(rng, kind, ((draw_mechanism(rng, base, count), count),), questions, options)
