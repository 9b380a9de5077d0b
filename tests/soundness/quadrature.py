"""Delta of a few smooth losses by nested integrals over the curve of the last.

    D_j(x) = E[D_(j-1)(x - Y_j)],    D_1 in closed form.

D_(j-1) is smooth but at its kinks, which are sums of the single losses' ends: integrals are split
there.
"""

import numpy as np

from .laws import LONG, TooSlowError

MOST_VALUES = 3_000_000
CHUNK = 200_000


def delta(smooth, atoms, epsilon):
    """Return delta at epsilon of smooth losses, and of a list of atoms, and its relative error."""
    smooth = sorted(smooth, key=lambda law: len(law.kinks))  # the many kinks last: innermost
    x = LONG(epsilon) - atoms.losses
    values = [_total(atoms, _curve(smooth, x, order)) for order in (16, 21)]
    if values[1] == 0:
        return values[1], 0.0
    return values[1], 3 * abs(float(values[0] / values[1] - 1)) + 1e-11


def _total(atoms, values):
    return (atoms.masses * values).sum()


def _kinks(smooth):
    sums = [LONG(0)]
    for law in smooth:
        if not law.kinks:
            return []
        sums = [a + b for a in sums for b in law.kinks]
    return sorted(set(sums))


def _curve(smooth, x, order):
    first, *others = smooth
    if not others:
        return first.curve(x)
    if hasattr(first, "parts"):
        return sum(weight * _curve([law, *others], x, order) for weight, law in first.parts)
    kinks = _kinks(others)
    low, high, scale = first.points()
    panels = int((high - low) / (LONG(1.6) * scale)) + 2
    if len(kinks) == 0:
        near = np.zeros(0, LONG)
    else:
        near = np.concatenate([[LONG(0)], scale * LONG(8.0) ** -np.arange(0, 12)])
        near = np.concatenate([-near[::-1], near])
    edges = np.union1d(np.linspace(low, high, panels + 1), getattr(first, "breaks", ()))
    edges = edges[(edges >= low) & (edges <= high)]
    panels = len(edges) - 1
    nodes, weights = np.polynomial.legendre.leggauss(order)
    per_value = (panels + len(kinks) * len(near)) * order
    if len(x) * per_value > MOST_VALUES:
        raise TooSlowError("nested integrals")
    result = np.empty(len(x), LONG)
    for start in range(0, len(x), max(1, CHUNK // per_value)):
        part = x[start : start + max(1, CHUNK // per_value)]
        cuts = [np.broadcast_to(edges, (len(part), panels + 1))]
        for kink in kinks:
            place = first.inverse(part - kink)
            place = np.where(np.isfinite(place), place, low)
            cuts.append(place[:, None] + near)
        ends = np.sort(np.clip(np.concatenate(cuts, axis=1), low, high), axis=1)
        half = np.diff(ends, axis=1)[..., None] / 2
        points = ends[:, :-1, None] + half * (1 + nodes)
        inner = part[:, None, None] - first.loss(points)
        values = _curve(others, inner.ravel(), order).reshape(points.shape)
        result[start : start + len(part)] = (values * first.density(points) * half * weights).sum(
            axis=(1, 2)
        )
        atoms = getattr(first, "atoms", None)
        if atoms is not None:
            for loss, mass in zip(atoms.losses, atoms.masses, strict=True):
                result[start : start + len(part)] += mass * _curve(others, part - loss, order)
    return result
