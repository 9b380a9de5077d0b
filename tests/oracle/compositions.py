"""Settings whose steps are hard to compose, or of which few data sets are known."""

import math
from math import comb

import prvcore as prv

from .data import records
from .mechanisms import draw_for_one_record, draw_table
from .nesting import is_nested
from .parameters import (
    beside,
    draw_count,
    draw_neighbors,
    draw_options,
    draw_probability,
    draw_width_options,
    log_uniform,
)
from .setting import Setting, epsilon_and_near, setting_of


def distinct_masses(rng, kind):
    size = int(log_uniform(rng, 100, 10_000))
    mass = log_uniform(rng, 1e-12, 0.9 / size)
    first, pace = log_uniform(rng, 1e-4, 1e-2), log_uniform(rng, 1e-9, 1e-5)
    drift = float(rng.choice([0.0, log_uniform(rng, 1e-6, 1e-2)])) / size
    steps = [
        (prv.ApproximateDP(first + pace * i, mass * (1.0 + drift * i)), 1) for i in range(size)
    ]
    left = math.fsum(math.log1p(-step.delta) for step, _ in steps)
    whole = -math.expm1(left)
    questions = [("epsilon", beside(rng, whole, most)) for most in (1, 16, 1000)]
    questions += [("delta", math.inf), ("delta", 1e6)]
    options = {"neighbors": str(rng.choice(["add", "remove", "add-or-remove"]))}
    askers = ("curve", "accountant") if size < 400 else ("curve",)
    return Setting(kind, tuple(steps), tuple(questions), options, askers, patience=10.0)


def distinct_steps(rng, kind):
    size = int(log_uniform(rng, 500, 10_000))
    scale = math.sqrt(size) * log_uniform(rng, 0.3, 3.0)
    pace = log_uniform(rng, 1e-6, 1e-2)
    steps = [(prv.Gaussian(scale + pace * i), 1 + i % 3) for i in range(size)]
    if rng.random() < 0.5:
        steps.insert(int(rng.integers(size)), (prv.ApproximateDP(0.1, 1e-7), 1))
    questions = [("delta", log_uniform(rng, 0.1, 3.0)), ("epsilon", log_uniform(rng, 1e-9, 1e-2))]
    return Setting(kind, tuple(steps), tuple(questions), {}, ("curve",), patience=30.0)


def history(rng, kind):
    """An accountant that is asked as it grows, with each kind of step at each position."""
    count = int(rng.integers(4, 9))
    kinds = ("sampled gaussian", "gaussian", "bounded range", "laplace", "mixture", "pure")
    kinds += ("discrete laplace", "sampled approximate", "table")
    neighbors = str(rng.choice(["add", "remove", "add-or-remove"]))
    bounded = rng.random() < 0.5  # all losses are: then a greatest one is known
    if bounded:
        kinds = ("bounded range", "laplace", "pure", "discrete laplace", "sampled approximate")
        if neighbors == "add":
            kinds += ("sampled gaussian",) * 3
    pool = [str(rng.choice(kinds))] * 3 + [str(rng.choice(kinds)) for _ in range(3)]
    steps = []
    for _ in range(count):
        name = str(rng.choice(pool))
        runs = draw_count(rng, name, 1e3)
        steps.append((draw_for_one_record(rng, name, runs), runs))
    mass = log_uniform(rng, 1e-9, 1e-2)
    last = rng.random() < 0.5
    for _ in range(int(rng.integers(1, 3))):
        place = len(steps) if last else int(rng.integers(len(steps) + 1))
        chance = rng.random()
        if chance < 0.6:
            step = prv.ApproximateDP(float(rng.choice([0.0, 0.0, 0.1])), mass)
        elif chance < 0.8:
            step = prv.FromTable([-0.2, 0.4], [0.5 - mass, 0.5], mass)
        else:
            step = prv.PoissonSubsampled(prv.ApproximateDP(0.0, mass), 0.5)
        steps.insert(place, (step, 1))
    delta = mass * float(rng.choice([0.01, 0.3, 0.49, 0.999, 1.0, 1.5, 3.0, 100.0]))
    questions = [("epsilon", min(delta, 1.0)), ("share", 1.0), ("delta", math.inf)]
    options = {"neighbors": neighbors}
    if rng.random() < 0.3:
        options["eps_error"] = log_uniform(rng, 1e-3, 1.0)
    askers = ("accountant", "curve")
    return Setting(kind, tuple(steps), tuple(questions), options, askers, patience=2.0)


def group(rng, kind):
    p, size = draw_probability(rng), int(log_uniform(rng, 1, 12))
    count = 1 if rng.random() < 0.5 else int(log_uniform(rng, 1, 300))
    noise = max(0.1, p * size * math.sqrt(count) * log_uniform(rng, 0.3, 10))
    step = prv.GroupPoissonSubsampledGaussian(noise, p, size)
    refusable = False
    if kind == "group sampled again":
        step = prv.PoissonSubsampled(step, float(rng.choice([1.0, 0.5, draw_probability(rng)])))
        if rng.random() < 0.2:
            step = prv.PoissonSubsampled(step, 0.7)
        refusable = True
    options = draw_options(rng)
    options.pop("discretization", None)
    questions = [*epsilon_and_near(rng), ("delta", 0.0), ("delta", rng.uniform(0.0, 1.5))]
    return setting_of(rng, kind, ((step, count),), questions, options, refusable=refusable)


def twice(rng, kind):
    base = [
        lambda: prv.Gaussian(log_uniform(rng, 0.3, 3.0)),
        lambda: prv.PureDP(log_uniform(rng, 0.1, 5.0)),
        lambda: prv.Laplace(log_uniform(rng, 0.3, 5.0)),
        lambda: prv.ApproximateDP(log_uniform(rng, 0.1, 3.0), log_uniform(rng, 1e-9, 0.1)),
        lambda: prv.DiscreteLaplace(log_uniform(rng, 0.3, 5.0)),
    ][rng.integers(5)]()
    p = draw_probability(rng)
    step = prv.PoissonSubsampled(base, p)
    if isinstance(base, prv.Gaussian) and rng.random() < 0.5:
        step = prv.PoissonSubsampledGaussian(base.noise_multiplier, p)
    for _ in range(int(rng.integers(1, 3))):
        step = prv.PoissonSubsampled(step, draw_probability(rng))
    count = 1 if rng.random() < 0.6 else int(log_uniform(rng, 1, 6))
    options = draw_options(rng)
    options.pop("discretization", None)
    questions = [*epsilon_and_near(rng), ("delta", 0.0)]
    return setting_of(rng, kind, ((step, count),), questions, options)


def nesting(rng, kind):
    """Draw a mechanism of mechanisms, of so few outcomes that all can be written down."""
    while True:
        mechanism = _made_of_others(rng, int(rng.integers(1, 4)), is_whole=True)
        if is_nested(mechanism) and _outcomes(mechanism) <= 1500:
            break
    count = 1 if rng.random() < 0.7 or _outcomes(mechanism) > 60 else 2
    steps = [(mechanism, count)]
    if rng.random() < 0.3:
        steps.append((prv.PureDP(log_uniform(rng, 0.01, 3.0)), int(rng.integers(1, 4))))
    options = {"neighbors": draw_neighbors(rng)}
    questions = [*epsilon_and_near(rng), ("delta", 0.0), ("delta", log_uniform(rng, 1e-3, 3.0))]
    return setting_of(rng, kind, steps, questions, options, patience=8.0)


def _made_of_others(rng, depth, is_whole=False):
    """Draw a mechanism; one that is_whole is no part of others."""
    made = ["leaf", "composed", "sample", "allocation", "bins"][rng.integers(5) if depth else 0]
    if made == "leaf":
        epsilon = log_uniform(rng, 1e-3, 4.0)
        kinds = (
            lambda: prv.PureDP(epsilon),
            lambda: prv.ApproximateDP(epsilon, log_uniform(rng, 1e-12, 0.5)),
            lambda: prv.DiscreteLaplace(1.0 / epsilon, int(rng.integers(1, 4))),
            lambda: draw_table(rng, int(rng.integers(1, 4))),
        )
        return kinds[rng.integers(len(kinds))]()
    inner = _made_of_others(rng, depth - 1)
    if made == "composed":
        return prv.Composed([(inner, int(rng.integers(1, 4))), _made_of_others(rng, depth - 1)])
    if made == "sample":
        return prv.PoissonSubsampled(inner, draw_probability(rng))
    if made == "allocation":
        batches = int(rng.integers(2, 6))
        selected = int(rng.integers(1, batches + 1)) if is_whole and rng.random() < 0.4 else 1
        return prv.RandomAllocation(inner, batches, selected)
    return prv.BallsInBins(inner, bins=int(rng.integers(2, 5)), epochs=int(rng.integers(1, 4)))


def _outcomes(mechanism):
    """Return about how many outcomes there are, at most."""
    name = type(mechanism).__name__
    if name == "Composed":
        return math.prod(comb(_outcomes(m) + n - 1, n) for m, n in mechanism.mechanisms)
    if name == "PoissonSubsampled":
        return _outcomes(mechanism.mechanism)
    if name == "RandomAllocation":
        return comb(_outcomes(mechanism.mechanism) + mechanism.batches - 1, mechanism.batches)
    if name == "BallsInBins":
        whole = comb(_outcomes(mechanism.mechanism) + mechanism.epochs - 1, mechanism.epochs)
        return comb(whole + mechanism.bins - 1, mechanism.bins)
    return 5


def gaussians_on_one_sample(rng, kind):
    count, p = draw_count(rng, "sampled gaussian"), draw_probability(rng)
    noise = max(0.2, min(200.0, p * math.sqrt(count) * log_uniform(rng, 0.3, 10)))
    parts = [
        (prv.Gaussian(noise * log_uniform(rng, 1.0, 100.0)), int(rng.integers(1, 10)))
        for _ in range(int(rng.integers(1, 4)))
    ]
    step = prv.PoissonSubsampled([(prv.Gaussian(noise), 1), *parts], p)
    options = draw_options(rng)
    options.pop("discretization", None)
    return setting_of(rng, kind, ((step, count),), epsilon_and_near(rng), options)


def bounded_ranges(rng, kind):
    many = rng.random() < 0.5
    count = int(log_uniform(rng, 20, 2000)) if many else int(rng.integers(2, 9))
    width = log_uniform(rng, 0.3, 3.0) / math.sqrt(count) * float(rng.choice([1.0, 3.0]))
    steps = [(prv.BoundedRange(width), count)]
    if rng.random() < 0.3:
        steps.append((prv.BoundedRange(width * 0.7), int(rng.integers(1, 4))))
    questions = [("epsilon", log_uniform(rng, 1e-9, 0.1)), ("share", 1.0), ("share", 0.5)]
    if len(steps) == 1 and count == 2:
        questions += [("delta", width * 0.5), ("delta", width)]
    questions += [("renyi", float(rng.choice([1.5, 2.0, 8.0])))]
    if rng.random() < 0.1 and len(steps) == 1:
        target = {"epsilon": log_uniform(rng, 1.0, 10.0), "delta": 1e-6, "parameter": "steps"}
        steps, questions = [(prv.BoundedRange(width), 1)], [("calibrate", tuple(target.items()))]
    return setting_of(rng, kind, steps, questions, draw_width_options(rng), patience=2.0)


def fixed_size(rng, kind):
    p = log_uniform(rng, 0.02, 1.0)
    count = int(rng.integers(2, 5))
    if rng.random() < 0.7:
        base = prv.PureDP(log_uniform(rng, 0.1, 3.0))
    else:
        base = prv.Gaussian(log_uniform(rng, 0.5, 4.0))
    step = prv.SubsampledWithoutReplacement(base, p)
    questions = [("delta", rng.uniform(0.0, 1.0) * count * p * 0.5), ("delta", 0.0)]
    questions += [("delta", -rng.uniform(0.0, 1.0)), ("epsilon", log_uniform(rng, 1e-6, 0.3))]
    questions += [("renyi", 2.0)]
    return setting_of(
        rng, kind, ((step, count),), questions, draw_width_options(rng, "replace-one")
    )


def small_data(rng, kind):
    """Batches of which so few records are cut that the worst data sets are known."""
    p, noise = rng.uniform(0.05, 1.0), log_uniform(rng, 0.4, 4.0)
    if rng.random() < 0.5:
        size, most, count = 2, 1, 1
    else:
        size = int(rng.integers(2, 8))
        most, count = int(rng.integers(1, size + 1)), int(rng.choice([1, 2, 5]))
    step = prv.TruncatedPoissonSubsampledGaussian(noise, p, size, most)
    neighbors = str(rng.choice(["remove", "remove", "add", "replace-one", "add-or-remove"]))
    questions = [("delta", rng.uniform(0.0, 1.0)), ("delta", 0.0), ("delta", -rng.uniform(0, 0.5))]
    questions += [("epsilon", log_uniform(rng, 1e-6, 0.2))]
    return setting_of(rng, kind, ((step, count),), questions, draw_width_options(rng, neighbors))


def records_in_plane(rng, kind):
    """A mechanism, and neighbouring data sets of which all batches can be written down."""
    size = int(rng.choice([2, 4]))
    dimension, noise = int(rng.integers(1, 3)), log_uniform(rng, 0.3, 3.0)
    p = float(rng.integers(1, size)) / size
    count = 2 if dimension == 1 and rng.random() < 0.4 else 1
    neighbors = str(rng.choice(["add", "remove", "replace-one"]))
    chance = rng.random()
    if chance < 0.4:
        neighbors = "replace-one"
        step = prv.SubsampledWithoutReplacement(prv.Gaussian(noise), p)
    elif chance < 0.8:
        p = rng.uniform(0.05, 1.0)
        most = int(rng.integers(1, size + 1))
        step = prv.TruncatedPoissonSubsampledGaussian(noise, p, size, most)
    else:
        step = prv.PoissonSubsampledGaussian(noise, rng.uniform(0.05, 1.0))
    pairs = []
    for _ in range(3):
        *others, one, another = records(rng, size + 1, dimension)
        if rng.random() < 0.5:  # what tells most
            others, another = [(-one[0], -one[1])] * len(others), (-one[0], -one[1])
        first, second = [*others, one], [*others, another]
        if neighbors == "remove":
            second = others
        elif neighbors == "add":
            first, second = others, first
        pairs.append((first, second))
    points = [0.0, rng.uniform(0.0, 2.0), rng.uniform(-1.0, 1.0)]
    questions = [("delta", float(x)) for x in points] + [("epsilon", log_uniform(rng, 1e-6, 0.3))]
    options = draw_width_options(rng, neighbors)
    askers, pairs = ("curve",), tuple(pairs)
    return Setting(
        kind, ((step, count),), tuple(questions), options, askers, patience=2.0, records=pairs
    )
