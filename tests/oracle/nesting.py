"""Mechanisms that are made of others, of finitely many outcomes each, by writing all outcomes down.

Of a pair, one measure is that of data without the record: the null measure. R is the density of the
other by it. The loss of 'remove' is log R, with an outcome of the other measure; that of 'add' is
-log R, with one of the null measure. What runs on the same records multiplies R, a sample mixes R
with 1, and an allocation is the mean of as many independent R as there are batches.
"""

from math import comb

from .balls import ONE, ZERO, TooSlowError, exact
from .laws import Atoms
from .pairs import discrete

MOST = 20_000  # outcomes


def is_nested(mechanism):
    """Say whether there are others in a mechanism that do not simplify to one pair."""
    while type(mechanism).__name__ == "PoissonSubsampled":
        mechanism = mechanism.mechanism
    if type(mechanism).__name__ == "Composed":
        return any(type(part).__name__ != "Gaussian" for part, _ in mechanism.mechanisms)
    return type(mechanism).__name__ in ("RandomAllocation", "BallsInBins")


def nested(mechanism, direction):
    """Return the law of the loss, for 'add' or 'remove'."""
    outcomes, infinite = _ratios(mechanism, direction)
    if direction == "remove":
        known = [(r.log(), r * mass) for r, mass in outcomes if r > 0]
    else:
        known = [(-r.log(), mass) for r, mass in outcomes if r > 0]
        infinite = sum((mass for r, mass in outcomes if not r > 0), ZERO)
    return Atoms([loss for loss, _ in known], [mass for _, mass in known], infinite)


def _ratios(mechanism, direction):
    """Return [(R, its mass under the null measure)], and the other's mass where that has none."""
    name = type(mechanism).__name__
    if name == "Composed":
        whole = [(ONE, ONE)], ZERO
        for part, count in mechanism.mechanisms:
            law = _ratios(part, direction)
            for _ in range(count):
                whole = _product(whole, law)
        return whole
    if name == "PoissonSubsampled":
        p = exact(mechanism.sampling_probability)
        outcomes, infinite = _ratios(mechanism.mechanism, direction)
        return _merged([((1 - p) + p * r, mass) for r, mass in outcomes]), p * infinite
    if name == "RandomAllocation":
        base = _ratios(mechanism.mechanism, direction)
        return _mean_of_sets(base, mechanism.batches, mechanism.selected)
    if name == "BallsInBins":
        whole = [(ONE, ONE)], ZERO
        for _ in range(mechanism.epochs):
            whole = _product(whole, _ratios(mechanism.mechanism, direction))
        return _mean_of_sets(whole, mechanism.bins, 1)
    pair = discrete(mechanism, name, 1)
    if pair.missing > 0:
        raise TooSlowError("outcomes that are not written down")
    if direction == "remove":
        known = [(loss.exp(), mass) for loss, mass in zip(pair.losses, pair.p, strict=True)]
        return _merged([*known, (ZERO, pair.only_p)]), pair.only_q
    known = [((-loss).exp(), mass) for loss, mass in zip(pair.losses, pair.q, strict=True)]
    return _merged([*known, (ZERO, pair.only_q)]), pair.only_p


def _product(first, second):
    (a, s), (b, t) = first, second
    if len(a) * len(b) > MOST:
        raise TooSlowError("too many outcomes")
    return _merged([(x * y, m * n) for x, m in a for y, n in b]), s + t - s * t


def _mean_of_sets(law, batches, size):
    """Return the mean of the products of R over all sets of `size` batches.

    Along the batches go the sums of these products over sets of 0, 1, ... size batches.
    """
    outcomes, infinite = law
    states = {None: ([ONE] + [ZERO] * size, ONE)}
    for _ in range(batches):
        if len(states) * len(outcomes) > MOST:
            raise TooSlowError("too many outcomes")
        after = {}
        for sums, mass in states.values():
            for r, m in outcomes:
                found = [ONE, *(sums[k] + sums[k - 1] * r for k in range(1, size + 1))]
                key = tuple(each.mid().str(40, radius=False) for each in found)
                before = after.get(key)
                if before is not None:
                    found = [a.union(b) for a, b in zip(before[0], found, strict=True)]
                after[key] = found, mass * m + (before[1] if before is not None else ZERO)
        states = after
    sets = comb(batches, size)
    # the other measure has the batches of one set in place of the null measure
    return [(sums[size] / sets, mass) for sums, mass in states.values()], (
        -(size * (-infinite).log1p()).expm1() if infinite < 1 else ONE
    )


def _merged(outcomes):
    """Put outcomes together whose R agree to 40 digits, in a ball that holds all of these R."""
    found = {}
    for r, mass in outcomes:
        if mass.is_zero():
            continue
        key = r.mid().str(40, radius=False)
        before = found.get(key)
        found[key] = (r, mass) if before is None else (before[0].union(r), before[1] + mass)
    return list(found.values())
