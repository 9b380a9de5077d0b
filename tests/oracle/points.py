"""Settings that are asked beside points where rounding decides."""

import math

import numpy as np

import prvcore as prv

from .mechanisms import draw_finite_kind, draw_mechanism
from .parameters import (
    beside,
    draw_count,
    draw_neighbors,
    draw_options,
    draw_probability,
    draw_width_options,
    log_uniform,
)
from .setting import Setting, setting_of


def negative(rng, kind):
    base = draw_finite_kind(rng)
    count = draw_count(rng, base, 1e4)
    steps = ((draw_mechanism(rng, base, count), count),) if rng.random() < 0.93 else ()
    points = [-log_uniform(rng, 1e-17, 40.0) for _ in range(3)]
    # what is all loss, or none: beside the floor 1 - e^epsilon
    questions = [("delta", x) for x in (*points, float(rng.choice([-math.inf, -0.0, -750.0])))]
    options = draw_options(rng, base)
    options.pop("discretization", None)
    return setting_of(rng, kind, steps, questions, options)


def beside_infinite(rng, kind):
    """Deltas within some units in the last place of the mass at infinity."""
    several = rng.random() < 0.5
    steps = []
    for _ in range(int(rng.integers(2, 40)) if several else 1):
        infinite = log_uniform(rng, 1e-15, 0.3)
        chance = rng.random()
        if chance < 0.5:
            step = prv.ApproximateDP(
                float(rng.choice([0.0, log_uniform(rng, 1e-3, 2.0)])), infinite
            )
        elif chance < 0.7:
            p = draw_probability(rng)
            step = prv.PoissonSubsampled(prv.ApproximateDP(log_uniform(rng, 1e-3, 2), infinite), p)
        else:
            step = prv.FromTable(
                [-0.2, 0.4], [0.5 * (1 - infinite), 0.5 * (1 - infinite)], infinite
            )
        steps.append((step, 1 if rng.random() < 0.5 else int(log_uniform(rng, 1, 1e4))))
    if rng.random() < 0.3:
        steps.insert(int(rng.integers(len(steps) + 1)), (prv.Gaussian(log_uniform(rng, 1, 50)), 3))
    neighbors = str(rng.choice(["remove", "add-or-remove", "add"]))
    left = math.fsum(count * math.log1p(-_infinite(step, neighbors)) for step, count in steps)
    mass = -math.expm1(left)
    asked = [beside(rng, mass, most) for most in (1, 4, 64, 1000)]
    questions = [("epsilon", min(max(x, 0.0), 1.0)) for x in asked] + [("delta", math.inf)]
    options = draw_options(rng, neighbors=neighbors)
    options.pop("discretization", None)
    return setting_of(rng, kind, steps, questions, options)


def _infinite(step, neighbors):
    if isinstance(step, prv.PoissonSubsampled):
        if neighbors == "add" and step.sampling_probability < 1.0:
            return 0.0
        return step.sampling_probability * _infinite(step.mechanism, neighbors)
    return getattr(step, "delta", getattr(step, "mass_at_infinity", 0.0))


def tiny(rng, kind):
    """Losses of 1e-18 to 1e-9, and deltas beside the greatest."""
    size = log_uniform(rng, 1e-18, 1e-9)
    count = int(rng.choice([1, 1, 1, 2, 5]))
    p = log_uniform(rng, 1e-12, 1.0)
    step = [
        lambda: prv.Gaussian(1.0 / size),
        lambda: prv.Laplace(1.0 / size),
        lambda: prv.PureDP(size),
        lambda: prv.BoundedRange(size),
        lambda: prv.PoissonSubsampledGaussian(p / size if p / size > 0.3 else 1.0, p),
        lambda: prv.PoissonSubsampled(prv.PureDP(log_uniform(rng, 0.01, 3.0)), size),
        lambda: prv.ApproximateDP(size, log_uniform(rng, 1e-18, 1e-3)),
        lambda: prv.FromTable([-size, size], [0.5 * (1 - size), 0.5 * (1 + size)]),
        lambda: prv.FromTable([-size, 0.4], [1 - size / 10, size / 10]),
    ][rng.integers(9)]()
    variation = prv.compose(step, count).delta(0.0).estimate
    shares = 1.0 - log_uniform(rng, 1e-6, 0.9), log_uniform(rng, 1e-9, 1.0)
    questions = [("epsilon", min(variation * share, 1.0)) for share in shares if variation > 0]
    questions += [("delta", size * log_uniform(rng, 1e-2, 3.0)), ("delta", 0.0), ("delta", -size)]
    questions += [("share", 1.0), ("epsilon", 1e-25)]
    options = draw_options(rng)
    options.pop("discretization", None)
    return setting_of(rng, kind, ((step, count),), questions, options)


def tiny_probabilities(rng, kind):
    """Samples of samples, of so few records that products of probabilities underflow."""
    base = [
        lambda: prv.PureDP(log_uniform(rng, 0.1, 50.0)),
        lambda: prv.Laplace(log_uniform(rng, 0.02, 5.0)),
        lambda: prv.Gaussian(log_uniform(rng, 0.1, 3.0)),
        lambda: prv.ApproximateDP(log_uniform(rng, 0.1, 3.0), log_uniform(rng, 1e-9, 0.5)),
    ][rng.integers(4)]()
    p = log_uniform(rng, 1e-307, 1e-20)
    step = prv.PoissonSubsampled(base, p)
    if rng.random() < 0.6:
        step = prv.PoissonSubsampled(step, log_uniform(rng, 1e-200, 1.0))
    count = 1 if rng.random() < 0.7 else int(log_uniform(rng, 1, 1e3))
    questions = [("delta", 0.0), ("delta", p), ("delta", -p), ("delta", rng.uniform(0.0, 2.0))]
    questions += [("epsilon", p * log_uniform(rng, 1e-10, 1.0)), ("epsilon", 0.0)]
    return setting_of(
        rng, kind, ((step, count),), questions, draw_width_options(rng), refusable=True, bits=3000
    )


def greatest(rng, kind):
    """Epsilons beside the greatest loss, and deltas of which most are no normal numbers."""
    kinds = ("pure", "laplace", "discrete laplace", "table", "randomized response", "bounded range")
    more = (
        "sampled discrete",
        "sampled laplace",
        "sampled table",
        "sampled gaussian",
        "fixed size",
    )
    base = str(rng.choice([*kinds, *more]))
    count = 1 if rng.random() < 0.5 else draw_count(rng, base, 3)
    step = draw_mechanism(rng, base, count)
    neighbors = draw_neighbors(rng, base)
    if base == "sampled gaussian":
        neighbors = "add"
    top = prv.compose(step, count, neighbors=neighbors).epsilon(0.0)
    questions = [("epsilon", x) for x in (0.0, 5e-324, log_uniform(rng, 1e-320, 1e-290))]
    if top.upper < math.inf:
        questions += [("delta", beside(rng, x, 30)) for x in top]
        questions.append(("delta", top.estimate * (1.0 - log_uniform(rng, 1e-16, 1e-3))))
    return setting_of(rng, kind, ((step, count),), questions, draw_width_options(rng, neighbors))


def beside_knot(rng, kind):
    """A heavy atom some units in the last place from a knot or another, and rare ones beside it."""
    step = float(2.0 ** -rng.integers(2, 8)) if rng.random() < 0.5 else log_uniform(rng, 5e-3, 0.5)
    low = -step * int(rng.integers(1, 8))
    heavy = beside(
        rng, low + step * int(rng.integers(2, 12)) if rng.random() < 0.7 else 3.1 * step, 4
    )
    if heavy <= 0.0:
        heavy = math.nextafter(step, 1.0)
    q = (
        (1.0 - log_uniform(rng, 1e-6, 0.3))
        * -math.expm1(-heavy)
        / (math.exp(-low) - math.exp(-heavy))
    )
    losses, masses = [low, heavy], [q, 1.0 - q]
    rares = []
    for _ in range(int(rng.integers(1, 4))):
        gap = step * log_uniform(rng, 1e-3, 1.5)
        at = heavy + gap if rng.random() < 0.8 else beside(rng, heavy, 3)
        if at not in losses and at > 0.0:
            losses.append(at)
            masses.append(log_uniform(rng, 1e-22, 1e-8))
            rares.append((at, masses[-1]))
    if rng.random() < 0.5:  # a heavy atom close to the other
        other = beside(rng, heavy, 2)
        if other not in losses:
            losses.append(other)
            masses[1] /= 2.0
            masses.append(masses[1])
    order = np.argsort(losses)
    losses, masses = np.array(losses)[order], np.array(masses)[order]
    masses[np.argmax(masses)] -= math.fsum(masses) - 1.0
    table = prv.FromTable(losses, masses)
    count = int(rng.choice([1, 1, 2, 3]))
    questions = []
    for at, mass in rares:
        base = (count - 1) * heavy
        questions.append(("delta", base + heavy + rng.uniform(0.0, 1.0) * (at - heavy)))
        questions.append(("epsilon", min(1.0, mass * log_uniform(rng, 1e-12, 1.0))))
    questions.append(("delta", count * beside(rng, heavy, 4)))
    questions.append(("delta", low * rng.uniform(0.0, 1.5)))
    options = draw_options(rng)
    options.pop("discretization", None)
    options.pop("mesh_size", None)
    if rng.random() < 0.6:
        options["mesh_size"] = step
    if rng.random() < 0.15:
        table = prv.PoissonSubsampled(table, float(rng.choice([0.5, 0.999, 0.1])))
    return setting_of(rng, kind, ((table, count),), questions, options)


def crowd(rng, kind):
    """2^14 to 2^20 atoms within one cell."""
    equal = rng.random() < 0.8
    size = 2 ** int(rng.integers(16, 21) if equal else rng.integers(13, 16))
    low = -float(rng.choice([0.1, 0.2, 0.5]))
    share = -math.expm1(low) if equal else 0.3  # about what P allows the crowd
    if equal:
        each = (int(rng.uniform(0.2, 0.9) * share / size * 2**54) + rng.uniform(0, 1)) * 2.0**-54
        masses = np.full(size, each)
    else:
        masses = rng.uniform(0.1, 1.0, size) * 0.2 / size
    losses = 1.0 + np.arange(size) * 2.0**-52
    first = 1.0 - math.fsum(masses)
    least = math.log(first / (1.0 - math.exp(-1.0) * math.fsum(masses)))
    low = least + 0.05
    table = prv.FromTable(np.concatenate([[low], losses]), np.concatenate([[first], masses]))
    points = (0.0, 0.3, -0.5, float(losses[size // 3]), rng.uniform(0.0, 0.99))
    questions = [("delta", float(x)) for x in points] + [("epsilon", float(size * masses[0]) * 0.4)]
    options = {"neighbors": "remove"} if rng.random() < 0.5 else {}
    if rng.random() < 0.3:
        options["mesh_size"] = 0.25
    return Setting(kind, ((table, 1),), tuple(questions), options, ("curve",), patience=20.0)
