"""Small data sets of records in the plane, and what a test tells of two of them.

The outputs of a batch with Gaussian noise are a mixture of normal laws, one for each batch that may
be drawn. For every set S of outputs, A(S) - e^epsilon B(S) is at most delta: S is chosen by
doubles, and its masses are balls. So these are lower bounds of the worst case, whatever the records
are.
"""

import math
from collections import defaultdict
from itertools import combinations, pairwise

import numpy as np

from .balls import ONE, ZERO, exact, normal_tail

GRID = 64  # coordinates are multiples of 1 / GRID: their sums are exact
SLABS = 60
FINE = 401


def records(rng, count, dimension):
    """Draw records in the unit ball: at its boundary, or anywhere."""
    found = []
    while len(found) < count:
        point = np.zeros(2)
        if dimension == 1:
            point[0] = rng.choice([-1.0, 1.0, 0.0, rng.uniform(-1, 1)], p=[0.35, 0.35, 0.15, 0.15])
        else:
            angle, radius = rng.uniform(0, 2 * math.pi), rng.choice([1.0, rng.uniform(0, 1)])
            point[:] = radius * math.cos(angle), radius * math.sin(angle)
        x, y = (int(v) for v in np.trunc(point * GRID))
        found.append((x / GRID, y / GRID))
    return found


def batches(mechanism, data):
    """Return the laws of the sum over a batch: a dictionary from sums to balls."""
    name, size = type(mechanism).__name__, len(data)
    laws = defaultdict(lambda: ZERO)

    def add(weight, chosen):
        x, y = sum(data[i][0] for i in chosen), sum(data[i][1] for i in chosen)
        laws[float(x), float(y)] += weight

    if name == "Gaussian":
        add(ONE, range(size))
    elif name == "SubsampledWithoutReplacement":
        chosen = mechanism.sampling_probability * size
        if chosen != int(chosen):
            raise ValueError(f"{mechanism!r} samples no whole number of {size} records")
        ways = math.comb(size, int(chosen))
        for some in combinations(range(size), int(chosen)):
            add(ONE / ways, some)
    else:
        p = exact(mechanism.sampling_probability)
        most = getattr(mechanism, "maximum_batch_size", size)
        for number in range(size + 1):
            weight = p**number * (1 - p) ** (size - number)
            kept = min(number, most)
            # every batch that is kept comes from as many samples
            ways = math.comb(size, kept)
            for some in combinations(range(size), kept):
                add(weight * math.comb(size, number) / ways, some)
    return dict(laws)


def noise_of(mechanism):
    base = getattr(mechanism, "mechanism", mechanism)
    return base.noise_multiplier


def told(mechanism, first, second, epsilon, count):
    """Bound delta at epsilon from below, of `count` steps on the data sets (records)."""
    a, b = batches(mechanism, first), batches(mechanism, second)
    if count == 2:  # on a line: two outputs are the plane
        a, b = (
            {(x, y): p * q for (x, _), p in c.items() for (y, _), q in c.items()} for c in (a, b)
        )
    noise = noise_of(mechanism)
    terms = [(weight, center) for center, weight in a.items()]
    growth = exact(epsilon).exp()
    terms += [(-growth * weight, center) for center, weight in b.items()]
    flat = all(center[1] == 0.0 for _, center in terms)
    # units of the noise
    weights = np.array([float(weight.mid()) for weight, _ in terms])
    centers = np.array([center for _, center in terms]) / noise
    low, high = centers.min(0) - 9.0, centers.max(0) + 9.0
    slabs = [-math.inf, math.inf] if flat else list(np.linspace(low[0], high[0], SLABS))
    axis = 0 if flat else 1
    fine = np.linspace(low[axis], high[axis], FINE)
    log = -0.5 * (fine - centers[:, axis, None]) ** 2
    value = ZERO
    for left, right in pairwise(slabs):
        at = np.zeros(len(terms)) if flat else -0.5 * ((left + right) / 2 - centers[:, 0]) ** 2
        exponents = log + at[:, None]
        density = (weights[:, None] * np.exp(exponents - exponents.max(0))).sum(0)
        edges = _runs(density > 0, fine)
        if not edges:
            continue
        for weight, center in terms:
            x, y = (exact(c) / exact(noise) for c in center)
            across = ONE if flat else normal_tail(exact(left) - x) - normal_tail(exact(right) - x)
            middle = x if flat else y
            along = ZERO
            for start, end in edges:
                above = ONE if start == -math.inf else normal_tail(exact(start) - middle)
                along += above if end == math.inf else above - normal_tail(exact(end) - middle)
            value += weight * across * along
    return value.max(ZERO)


def _runs(inside, points):
    """Return intervals where `inside` holds, those at the ends without end."""
    changes = np.flatnonzero(np.diff(inside.astype(int)))
    edges = [-math.inf] if inside[0] else []
    edges += [float(points[i] + points[i + 1]) / 2 for i in changes]
    edges += [math.inf] if inside[-1] else []
    return list(zip(edges[::2], edges[1::2], strict=True))
