"""The two output distributions of each mechanism, from its definition.

`pair_of` returns the pair (P, Q) whose delta at epsilon is sup_S Q(S) - e^epsilon P(S): if a record
is removed, Q is the law with the record and P the one without; if one is added, the reverse; if one
is replaced, the laws with either value, in the worst case. Sensitivities are those to a record that
is added or removed, and a replaced record changes a query by twice as much.
"""

from fractions import Fraction
from itertools import pairwise
from math import comb, inf

from flint import arb

from .above import BoundedRange, Choice, FixedSize, FromAbove, binomial_above
from .atoms import MOST_ATOMS, Atoms
from .balls import ball, between
from .gaussian import Gaussian
from .laplace import Laplace
from .refusal import Refused, require
from .sampled import sampled

__all__ = ["check_mechanism", "pair_of"]

_LEAST, _MOST = 5e-324, 1.7976931348623157e308  # of doubles above 0
_RANGES = {
    "noise_multiplier": (_LEAST, _MOST),
    "deviation": (_LEAST, _MOST),
    "scale": (_LEAST, _MOST),
    "sensitivity": (_LEAST, _MOST),
    "sensitivities": (0.0, _MOST),
    "probabilities": (0.0, _MOST),  # then normalised
    "losses": (-_MOST, _MOST),
    "mass_at_infinity": (0.0, 1.0),
    "sampling_probability": (0.0, 1.0),
    "epsilon": (0.0, _MOST),
    "delta": (0.0, 1.0),
    "categories": (2, 1 << 63),
    "group_size": (1, 1 << 12),
    "dataset_size": (1, 1 << 32),
    "maximum_batch_size": (1, 1 << 32),
}
_NORMAL = {"Gaussian", "NoisyCount"}
_INTEGERS = ("categories", "group_size", "dataset_size", "maximum_batch_size")
_LISTS = ("losses", "probabilities", "sensitivities")
# On a sample, their data set is another: of fewer records, or of other members of the group.
_NEVER_WITHIN = ("GroupPoissonSubsampledGaussian", "TruncatedPoissonSubsampledGaussian")


def check_mechanism(mechanism):
    """Raise Refused unless formulas hold for a mechanism and each in it.

    It has the fields of its type and no other, which could change its meaning, and all of them are
    in their ranges.
    """
    kind = mechanism["type"]
    if kind not in _KINDS:
        raise Refused(f"the mechanism {kind} is not covered")
    _, fields = _KINDS[kind]
    require(set(mechanism) == {"type", *fields}, f"{kind} has not the fields of its type")
    for name, value in mechanism.items():
        if name in _RANGES:
            low, high = _RANGES[name]
            for number in value if name in _LISTS else [value]:
                require(type(number) in (int, float), f"{name} = {number!r} is no number")
                require(low <= number <= high, f"{name} = {number!r} is out of its range")
        if name in _INTEGERS:
            require(type(value) is int, f"{name} = {value!r} is no integer")
        if name in ("centred", "attained"):
            require(type(value) is bool, f"{name} = {value!r} is neither true nor false")
        if name == "probabilities":
            whole = sum(map(Fraction, value)) + Fraction(mechanism.get("mass_at_infinity", 0))
            require(abs(whole - 1) <= Fraction(1, 10**9), "probabilities have another sum than 1")
    if kind in ("DiscreteGaussian", "DiscreteLaplace"):
        require(type(mechanism["sensitivity"]) is int, "the sensitivity is no integer")
    inner = [mechanism["mechanism"]] if "mechanism" in mechanism else []
    for part in [*inner, *(part for part, _ in mechanism.get("mechanisms", ()))]:
        check_mechanism(part)
        require(part["type"] not in _NEVER_WITHIN, f"{part['type']} within others is not covered")


def pair_of(mechanism, direction):
    """Return the pair of a mechanism that was checked, a dict with its "type" and parameters."""
    find, _ = _KINDS[mechanism["type"]]
    return find(mechanism, direction)


def _times(direction):
    return 2 if direction == "replace-one" else 1


def _normal(deviation, shift, direction):
    """Return the pair of normal noise on a query that changes by the shift."""
    change = Fraction(shift) * _times(direction)
    return Gaussian({Fraction(0): arb(1)}, {change: arb(1)}, deviation)


def _gaussian(m, direction):
    return _normal(ball(m["noise_multiplier"]), 1, direction)


def _noisy_count(m, direction):
    require(m["centred"] or direction != "replace-one", "a count that is not centred is replaced")
    return _normal(ball(m["deviation"]), Fraction(1, 2) if m["centred"] else 1, direction)


def _composed(m, direction):
    """Return the pair of several mechanisms on the same records, whose outputs are all seen.

    It is the product of their pairs. The changes of normal noises make one vector.
    """
    for _, count in m["mechanisms"]:
        require(type(count) is int and count > 0, "a count is not positive")
    if not {part["type"] for part, _ in m["mechanisms"]} & _NORMAL:
        return _product([(pair_of(part, direction), count) for part, count in m["mechanisms"]])
    square = arb(0)  # of the change over the deviation
    for part, count in m["mechanisms"]:
        is_normal = part["type"] in _NORMAL
        require(is_normal, f"{part['type']} among several normal noises is not covered")
        noise = pair_of(part, direction)
        (change,) = noise.special
        square += count * (ball(change) / noise.deviation) ** 2
    return _normal(1 / square.sqrt(), 1, "remove")


def _product(pairs):
    """Return the pair of discrete ones, each so many times."""
    found = Atoms([(arb(1), arb(1))], losses=[Fraction(0)])
    for pair, count in pairs:
        require(isinstance(pair, Atoms), "noise among several mechanisms is not covered")
        power = None
        for bit in f"{count:b}":
            power = power and power.times(power)
            if bit == "1":
                power = pair if power is None else power.times(pair)
        found = found.times(power)
    return found


def _laplace(m, direction):
    return Laplace(ball(Fraction(m["sensitivity"]) / Fraction(m["scale"])) * _times(direction))


def _discrete_laplace(m, direction):
    """Return the pair of noise proportional to r^|x|, r = e^(-1 / scale), moved by the sensitivity.

    Ratios do not change below 0 and above the sensitivity: each side is one outcome, of the mass
    1 / (1 + r) of one law and r^sensitivity / (1 + r) of the other.
    """
    change = int(m["sensitivity"]) * _times(direction)
    require(change < MOST_ATOMS, "the sensitivity is too large")
    ratio = (-1 / ball(m["scale"])).exp()
    powers = [arb(1)]
    for _ in range(change):
        powers.append(powers[-1] * ratio)
    end = 1 / (1 + ratio)
    inner = (1 - ratio) * end
    outcomes = [(end * powers[change], end)]
    outcomes += [(inner * powers[change - x], inner * powers[x]) for x in range(1, change)]
    outcomes.append((end, end * powers[change]))
    losses = [(2 * x - change) / Fraction(m["scale"]) for x in range(change + 1)]
    return Atoms(outcomes, losses=losses)


def _discrete_gaussian(m, direction):
    """Return the pair of noise proportional to e^(-x^2 / (2 s^2)), moved by the sensitivity.

    Of the noise, |x| <= n is summed. Beyond, the terms of x >= n + 1 are at most the geometric
    series from the first of them, whose ratio is e^(-(2n + 3) / (2 s^2)).
    """
    scale, change = Fraction(m["scale"]), int(m["sensitivity"]) * _times(direction)
    n = int(40 * scale) + 2 + change
    require(2 * n < MOST_ATOMS, "the noise has too many values")
    rate = ball(-1 / (2 * scale**2))
    half = [(rate * x * x).exp() for x in range(n + 1)]
    tail = (rate * (n + 1) ** 2).exp() / (1 - (rate * (2 * n + 3)).exp())  # on one side, at most
    kept = half[0] + 2 * sum(half[1:], arb(0))
    total = between(kept, kept + 2 * tail)
    outcomes = [
        (half[abs(x - change)] / total, half[abs(x)] / total) for x in range(change - n, n + 1)
    ]
    # Beyond, a law has no more mass than the noise from n + 1 - change on.
    return Atoms(outcomes, left_out=sum(half[n + 1 - change :], tail) / total)


def _pure(m, direction):
    return _approximate({"epsilon": m["epsilon"], "delta": 0.0}, direction)


def _approximate(m, _):
    """Return randomized response, with a mass of delta of each law where the other one has none."""
    delta, high = ball(m["delta"]), ball(m["epsilon"]).exp()
    most, rest = (1 - delta) * high / (1 + high), (1 - delta) / (1 + high)
    none = [(arb(0), delta)] if delta > 0 else []
    losses = [-inf] * len(none) + [-Fraction(m["epsilon"]), Fraction(m["epsilon"])]
    return Atoms([*none, (rest, most), (most, rest)], delta, losses=losses)


def _randomized_response(m, direction):
    require(direction == "replace-one", "randomized response is for replaced records")
    high, others = ball(m["epsilon"]).exp(), int(m["categories"]) - 1
    true, false = high / (high + others), 1 / (high + others)
    same = (others - 1) * false
    middle = [(same, same)] if others > 1 else []
    loss = Fraction(m["epsilon"])
    losses = [-loss, *([Fraction(0)] * len(middle)), loss]
    return Atoms([(false, true), *middle, (true, false)], losses=losses)


def _table(m, direction):
    """Return the pair of a table, which is stated for both orders of two data sets.

    If P has more mass than 1, by rounding, it is divided by its mass.
    """
    of = "replace-one" if direction == "replace-one" else "add-or-remove"
    require(m["neighbors"] in (of, "any"), f"a table is not stated for {direction}")
    require(0 < len(m["losses"]) < MOST_ATOMS, "a table has no loss, or too many")
    require(all(a < b for a, b in pairwise(m["losses"])), "the losses of a table do not rise")
    whole = sum(map(Fraction, m["probabilities"])) + Fraction(m["mass_at_infinity"])
    q = [ball(Fraction(mass) / whole) for mass in m["probabilities"]]
    rows = zip(q, m["losses"], m["probabilities"], strict=True)
    outcomes = [(one, one / ball(loss).exp()) for one, loss, mass in rows if mass > 0]
    null = sum((p for _, p in outcomes), arb(0))
    require(null <= 1 + ball(Fraction(1, 10**8)), "P has more mass than 1")
    rest = arb(0).max(1 - null)
    outcomes = [(arb(0), rest), *((q, p / null.max(arb(1))) for q, p in outcomes)]
    pair = Atoms(outcomes, ball(Fraction(m["mass_at_infinity"]) / whole))
    return pair if m["attained"] else FromAbove(pair)


def _mixture(m, direction):
    require(direction != "replace-one", "no pair of a mixture is known for replaced records")
    weights = {}
    total = sum((ball(p) for p in m["probabilities"]), arb(0))
    for centre, probability in zip(m["sensitivities"], m["probabilities"], strict=True):
        if probability > 0:
            place = Fraction(centre)
            weights[place] = weights.get(place, arb(0)) + ball(probability) / total
    return _against_mixture(weights, ball(m["noise_multiplier"]), direction)


def _against_mixture(weights, deviation, direction):
    """Return N(0, s^2) against a mixture of N(c, s^2), or the reverse, mirrored at 0."""
    if direction == "remove":
        return Gaussian({Fraction(0): arb(1)}, weights, deviation)
    return Gaussian({-c: w for c, w in weights.items()}, {Fraction(0): arb(1)}, deviation)


def _poisson_gaussian(m, direction):
    return _poisson({**m, "mechanism": {**m, "type": "Gaussian"}}, direction)


def _poisson(m, direction):
    """Return the pair on a Poisson sample, which may be drawn from another Poisson sample."""
    base, probability = m["mechanism"], ball(m["sampling_probability"])
    while base["type"] in ("PoissonSubsampled", "PoissonSubsampledGaussian"):
        probability *= ball(base["sampling_probability"])
        normal = base["type"] == "PoissonSubsampledGaussian"
        base = {**base, "type": "Gaussian"} if normal else base["mechanism"]
    if direction != "replace-one":
        pair = pair_of(base, direction)
        if base["type"] == "FromTable":  # which does not say which data set has the record
            pair = FromAbove(pair)
        return sampled(pair, probability, direction)
    pair_of(base, "remove")  # one of both may be in the sample alone: refused if that has no pair
    twice = pair_of(base, direction)
    if not isinstance(twice, Gaussian):
        return FixedSize(sampled(twice, probability, "remove"))
    # Of normal noise, the one record moves the mean up, and the other one down.
    (change,) = twice.special
    absent = {Fraction(0): 1 - probability} if probability < 1 else {}
    null, special = {-change / 2: probability, **absent}, {change / 2: probability, **absent}
    return Gaussian(null, special, twice.deviation)


def _fixed_size(m, direction):
    require(direction == "replace-one", "samples of fixed size are of replaced records")
    base = pair_of(m["mechanism"], direction)
    require(not isinstance(base, FixedSize), "a sample of such a mechanism is not covered")
    return FixedSize(sampled(base, ball(m["sampling_probability"]), "remove"))


def _bounded_range(m, _):
    return BoundedRange(ball(m["epsilon"]))


def _truncated_poisson(m, direction):
    """Return the pair of a Poisson sample that is cut down to a greatest size b at random.

    Of n records, n - 1 others are sampled. Whether b or more of them are is known, at worst; its
    probability is `full`. If so, the record takes the place of another one with the probability
    `kept` = b P(Bin(n, p) > b) / (n full), and changes the query by twice the sensitivity.
    """
    n, most = m["dataset_size"], m["maximum_batch_size"]
    p, deviation = ball(m["sampling_probability"]), ball(m["noise_multiplier"])
    free = _poisson_gaussian(m, direction)
    if most >= n:
        return free
    full = binomial_above(n - 1, p, most)
    kept = (most * binomial_above(n, p, most + 1) / (n * full)).min(arb(1))
    other = "remove" if direction == "replace-one" else direction
    cut = sampled(_normal(deviation, 2, other), kept, other)
    if direction == "replace-one":
        cut = FixedSize(cut)
    # Fewer are, of a probability that 1 - full would lose in rounding.
    return Choice([(binomial_above(n - 1, 1 - p, n - most), free), (full, cut)])


def _group(m, direction):
    """Return the pair of a group of which a binomial number of members is in the sample."""
    require(direction != "replace-one", "no pair of a group is known for replaced records")
    p, n = ball(m["sampling_probability"]), int(m["group_size"])
    weights = {Fraction(j): comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)}
    return _against_mixture(weights, ball(m["noise_multiplier"]), direction)


# How the pair of each is found, and what it is told by.
_KINDS = {
    "ApproximateDP": (_approximate, {"epsilon", "delta"}),
    "BoundedRange": (_bounded_range, {"epsilon"}),
    "Composed": (_composed, {"mechanisms"}),
    "DiscreteGaussian": (_discrete_gaussian, {"scale", "sensitivity"}),
    "DiscreteLaplace": (_discrete_laplace, {"scale", "sensitivity"}),
    "FromTable": (
        _table,
        {"losses", "probabilities", "mass_at_infinity", "neighbors", "attained"},
    ),
    "Gaussian": (_gaussian, {"noise_multiplier"}),
    "GroupPoissonSubsampledGaussian": (
        _group,
        {"noise_multiplier", "sampling_probability", "group_size"},
    ),
    "Laplace": (_laplace, {"scale", "sensitivity"}),
    "MixtureOfGaussians": (_mixture, {"noise_multiplier", "sensitivities", "probabilities"}),
    "NoisyCount": (_noisy_count, {"deviation", "centred"}),
    "PoissonSubsampled": (_poisson, {"mechanism", "sampling_probability"}),
    "PoissonSubsampledGaussian": (
        _poisson_gaussian,
        {"noise_multiplier", "sampling_probability"},
    ),
    "PureDP": (_pure, {"epsilon"}),
    "RandomizedResponse": (_randomized_response, {"epsilon", "categories"}),
    "SubsampledWithoutReplacement": (_fixed_size, {"mechanism", "sampling_probability"}),
    "TruncatedPoissonSubsampledGaussian": (
        _truncated_poisson,
        {"noise_multiplier", "sampling_probability", "dataset_size", "maximum_batch_size"},
    ),
}
