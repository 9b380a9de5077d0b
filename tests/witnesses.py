"""Random answers with their witnesses, chosen claims, what is made false, and a run over many.

``python -m tests.witnesses --seeds 0 100 --false`` proves the witness of each seed, and has a false
one refused.
"""

import argparse
import importlib.util
import json
import math
import random
import signal
import sys
import warnings
from collections import Counter
from fractions import Fraction

import prvcore as prv
from tests.support.checkout import ROOT

__all__ = [
    "BATCHES",
    "CURVE",
    "OF_FIXED_SIZE",
    "PURE",
    "RESPONSE",
    "STEP",
    "claimed",
    "falsified",
    "of_table",
    "on_sample",
    "random_witness",
    "refusal_of",
    "sealed",
    "verifier",
]


def verifier():
    """Return the verifier of this checkout, which is no part of prvcore."""
    name = "prvcore_verify"
    if name not in sys.modules:
        init = ROOT / "verify" / "__init__.py"
        spec = importlib.util.spec_from_file_location(
            name, init, submodule_search_locations=[str(init.parent)]
        )
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


# ---- Random answers ------------------------------------------------------------------------------


def between(draw, low, high):
    """Return a number whose logarithm is uniform."""
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def normal(draw):
    if draw.random() < 0.5:
        return prv.Gaussian(between(draw, 0.3, 50.0))
    return prv.NoisyCount(between(draw, 0.3, 20.0), centred=True)


def base(draw):
    """Return a mechanism that a sample may have."""
    kind = draw.randrange(8)
    if kind == 0:
        return normal(draw)
    if kind == 1:
        return prv.Composed([normal(draw), (normal(draw), 3)])
    if kind == 2:
        return prv.Laplace(between(draw, 0.3, 50.0), draw.choice([1.0, 0.7, 2.5]))
    if kind == 3:
        return prv.DiscreteLaplace(between(draw, 0.5, 30.0), draw.choice([1, 1, 2, 5]))
    if kind == 4:
        return prv.PureDP(between(draw, 1e-3, 2.0))
    if kind == 5:
        return prv.ApproximateDP(between(draw, 1e-3, 2.0), between(draw, 1e-40, 1e-8))
    if kind == 6:
        return prv.Composed([(discrete(draw), draw.randint(1, 4)) for _ in range(2)])
    centres = [draw.choice([0.0, 0.5, 1.0, 2.0, 3.25]) for _ in range(draw.randint(1, 4))]
    weights = [draw.random() for _ in centres]
    total = sum(weights)
    mixture = [weight / total for weight in weights]
    return prv.MixtureOfGaussians(between(draw, 0.5, 10.0), centres, mixture)


def discrete(draw):
    """Return a mechanism of few outcomes whose losses are rational numbers."""
    kind = draw.randrange(3)
    if kind == 0:
        return prv.DiscreteLaplace(between(draw, 0.5, 30.0), draw.choice([1, 2]))
    if kind == 1:
        return prv.PureDP(between(draw, 1e-3, 2.0))
    return prv.ApproximateDP(between(draw, 1e-3, 2.0), between(draw, 1e-40, 1e-8))


def table(draw):
    """Return a table, of which P may have more mass than 1 by a rounding."""
    losses = sorted(between(draw, 1e-3, 3.0) for _ in range(draw.randint(1, 6)))
    lowest = -between(draw, 1e-2, 2.0)
    masses = [draw.random() for _ in losses]
    q = sum(masses)
    p = sum(mass * math.exp(-loss) for mass, loss in zip(masses, losses, strict=True))
    least = (q - p) / math.expm1(-lowest)  # with this mass at the lowest loss, P lacks none
    least *= draw.choice([1.0, 1.0 + 1e-11, 0.7])
    shares = [mass / (q + least) for mass in [least, *masses]]
    return prv.FromTable([lowest, *losses], shares, neighbors="any", attained=draw.random() < 0.8)


def mechanism(draw, neighbors):
    """Return a mechanism that the verifier covers."""
    probability = between(draw, 1e-4, 0.9)
    kind = draw.random()
    if kind < 0.4:
        return prv.PoissonSubsampledGaussian(between(draw, 0.5, 5.0), probability)
    if kind < 0.5:
        return prv.DiscreteGaussian(between(draw, 0.5, 30.0), draw.choice([1, 1, 2, 3]))
    if kind < 0.53:
        return table(draw)
    found = base(draw)
    if kind < 0.58:
        n, most = draw.randint(1, 2000), draw.randint(1, 300)
        return prv.TruncatedPoissonSubsampledGaussian(between(draw, 0.5, 5.0), probability, n, most)
    if kind < 0.62:
        return prv.BoundedRange(between(draw, 1e-3, 2.0))
    if neighbors == "replace-one" and kind < 0.75 and not isinstance(found, prv.MixtureOfGaussians):
        return prv.SubsampledWithoutReplacement(found, probability)
    if neighbors == "replace-one":
        if isinstance(found, prv.MixtureOfGaussians):
            return prv.RandomizedResponse(between(draw, 1e-2, 2.0), draw.choice([2, 3, 10]))
        return found
    if draw.random() < 0.1:
        found = prv.DiscreteGaussian(between(draw, 0.5, 30.0), draw.choice([1, 2]))
    return prv.PoissonSubsampled(found, probability) if kind < 0.8 else found


def random_witness(seed, most_steps):
    """Return the witness of a random answer, or None if it needs no lattices or is infinite."""
    draw = random.Random(seed)
    neighbors = draw.choice(["add-or-remove", "add-or-remove", "add", "remove", "replace-one"])
    delta = between(draw, 1e-30, 1e-3)
    steps = [
        (mechanism(draw, neighbors), int(between(draw, 1, most_steps)))
        for _ in range(draw.choice([1, 1, 1, 2, 3]))
    ]
    if draw.random() < 0.06 and neighbors != "replace-one":
        p, size = between(draw, 1e-3, 0.5), draw.randint(1, 5)
        group = prv.GroupPoissonSubsampledGaussian(between(draw, 0.7, 5.0), p, size)
        steps = [(group, int(between(draw, 1, most_steps)))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", prv.AccuracyWarning)
        about = prv.compose(steps, neighbors=neighbors, eps_error=1.0).epsilon(delta).estimate
        if math.isinf(about):
            return None
        # The number of points is about inverse to the width. For an epsilon of thousands, nobody
        # asks for hundredths.
        width = between(draw, 0.03, 0.5) * max(1.0, about / 100.0)
        curve = prv.compose(steps, neighbors=neighbors, eps_error=width)
        about = curve.epsilon(delta).estimate
        of_delta = draw.random() < 0.3
        point = {"epsilon": about} if of_delta else {"delta": delta}
        try:
            return json.loads(json.dumps(curve.witness(**point)))
        except ValueError as refusal:
            if "would be empty" not in str(refusal):
                raise
            return None


# ---- Chosen claims -------------------------------------------------------------------------------

STEP = prv.PoissonSubsampledGaussian(noise_multiplier=1.1, sampling_probability=0.01)
CURVE = prv.compose([(STEP, 200), (prv.Laplace(5.0), 2)], eps_error=0.01)


def claimed(mechanism, neighbors, question, lower, upper):
    """Return the witness of a claim that may need no lattices."""
    return sealed(
        {
            "format": "prvcore witness 1",
            "program": "",
            "steps": [{"mechanism": mechanism, "count": 1}],
            "neighbors": neighbors,
            "question": {name: value.hex() for name, value in question.items()},
            "claim": {"lower": lower.hex(), "upper": "inf" if upper == math.inf else upper.hex()},
            "lattices": {},
            "passes": {},
        }
    )


def on_sample(mechanism, probability=0.5):
    return {
        "type": "PoissonSubsampled",
        "mechanism": mechanism,
        "sampling_probability": probability,
    }


def of_table(losses, masses, infinite, neighbors):
    return {
        "type": "FromTable",
        "losses": losses,
        "probabilities": masses,
        "mass_at_infinity": infinite,
        "neighbors": neighbors,
        "attained": True,
    }


RESPONSE = {"type": "RandomizedResponse", "epsilon": 1.0, "categories": 2}
OF_FIXED_SIZE = {"type": "SubsampledWithoutReplacement", "sampling_probability": 0.01}
PURE = {"type": "PureDP", "epsilon": 1.0}
BATCHES = {
    "type": "TruncatedPoissonSubsampledGaussian",
    "noise_multiplier": 1.0,
    "sampling_probability": 1.0,
    "dataset_size": 10,
    "maximum_batch_size": 10,
}


# ---- What is false -------------------------------------------------------------------------------


def sealed(witness):
    """Return a witness with the checksum of what it says."""
    rest = {name: part for name, part in witness.items() if name != "checksum"}
    module = importlib.import_module(f"{verifier().__name__}.witness")
    return {**rest, "checksum": module.checksum(rest)}


def too_far(witness, side, part):
    """Return a witness that claims more than its lattices prove, or None if they prove nothing."""
    bound = sharpest(witness, side)
    if bound is None:
        return None
    off = 1.0 - part if side == "upper" else 1.0 + part
    claim = {**witness["claim"], side: (bound * off).hex()}
    return sealed({**witness, "claim": claim})


# The ways in which a witness is made false, each by a part of a number.
FALSE = {
    "damaged": lambda witness, draw, part: damaged(witness, draw, part),
    "upper bound": lambda witness, _, part: too_far(witness, "upper", part),
    "lower bound": lambda witness, _, part: too_far(witness, "lower", part),
    "masses above": lambda witness, draw, part: too_light(witness, draw, part),
}


def falsified(witness, draw, kinds=tuple(FALSE), part=1e-12):
    """Return the names and values of witnesses, each of which goes too far by this part."""
    found = {kind: FALSE[kind](witness, draw, part) for kind in kinds}
    return {kind: value for kind, value in found.items() if value is not None}


def one_falsified(witness, draw):
    """Return the same of one kind that no checksum tells, or else of the one that it tells."""
    for kind in draw.sample(list(FALSE)[1:], 3):
        if found := falsified(witness, draw, (kind,)):
            return found
    return falsified(witness, draw, ("damaged",))


def damaged(witness, draw, part):
    """Return a witness of which one mass is another, and nothing else."""
    copy = json.loads(json.dumps(witness))
    lattice = draw.choice(list(draw.choice(list(copy["lattices"].values())).values()))[0]
    i = draw.randrange(len(lattice["masses"]))
    lattice["masses"][i] = (float.fromhex(lattice["masses"][i]) * (1.0 + 2.0 * part)).hex()
    return copy


def too_light(witness, draw, part):
    """Return a witness of which one lattice above has less than all mass, by this part."""
    copy = json.loads(json.dumps(witness))
    if copy["claim"]["upper"] == "inf":
        return None
    question = question_of(copy)
    point = question._point(question.upper)
    directions = [d for d in question.directions if not question._is_beyond_support(*point, d)]
    if point[1] >= 1 or not directions:  # no lattice is needed: a delta of 1 is true of any
        return None
    stated = draw.choice(copy["lattices"][draw.choice(directions)]["above"])

    def exact(name):
        return Fraction(float.fromhex(stated[name]))

    error = 1 + exact("relative_error")
    masses = [Fraction(float.fromhex(mass)) * error for mass in stated["masses"]]
    room = sum(masses) + exact("mass_at_infinity") + exact("error_at_infinity") - 1
    i = max(range(len(masses)), key=lambda j: masses[j])
    stated["masses"][i] = float((masses[i] - room - Fraction(part)) / error).hex()
    return sealed(copy)


def question_of(witness):
    """Return what the verifier makes of a witness, at its precision."""
    importlib.import_module(f"{verifier().__name__}.balls").set_precision()
    return importlib.import_module(f"{verifier().__name__}.claim")._Question(witness)


def sharpest(witness, side):
    """Return about the closest bound that the lattices prove, or None where none needs proof."""
    claimed = float.fromhex(witness["claim"][side])
    if not 1e-300 < claimed < math.inf:
        return None
    question = question_of(witness)
    epsilon, delta = question._point(Fraction(claimed))
    known = question._is_beyond_support if side == "upper" else question._is_known_from_below
    if any(known(epsilon, delta, direction) for direction in question.directions):
        return None
    return max(proved_in(question, d, side == "upper", claimed) for d in question.directions)


def proved_in(question, direction, above, claimed):
    """Return about what the lattices of a direction prove, to a few roundings.

    Laws are cut for the point that they are composed for. A claim may be far from what is proved.
    """
    while True:
        point = question._point(Fraction(claimed))
        composed = question._composed(direction, above, *point)
        if question.given == "epsilon":
            bound = float(composed.delta(point[0]).mid())
        else:
            bound = crossing(composed, point[1], claimed)
        if not abs(bound - claimed) > 1e-3 * claimed or not bound > 1e-300:
            return bound
        claimed = bound


def crossing(composed, delta, about):
    """Return where a composed curve falls to delta, to a few roundings."""
    ball = importlib.import_module(f"{verifier().__name__}.balls").ball(delta)

    def is_beyond(epsilon):
        return composed.delta(Fraction(epsilon)) <= ball

    low, high, step = about, about, 1e-13 * about
    while not is_beyond(high):  # a claim may be far from the crossing
        low, high, step = high, high + step, 16.0 * step
    while low == high or (low > 0.0 and is_beyond(low)):
        low, high, step = max(low - step, 0.0), low, 16.0 * step
    while high - low > 1e-15 * high:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (low, middle) if is_beyond(middle) else (middle, high)
    return high


# ---- Many ----------------------------------------------------------------------------------------


def refusal_of(witness):
    """Return why a witness is refused, or None if it is proved."""
    try:
        verifier().prove(witness)
    except verifier().Refused as refusal:
        return str(refusal)
    return None


_EACH = 20  # seeds between lines that tell how far a run is


def _give_up(*_):
    raise TimeoutError


def tried(seed, options):
    """Return what comes of a seed: counts by name, and lines to print if something is wrong."""
    witness = random_witness(seed, options.most_steps)
    if witness is None:
        return Counter({"infinite": 1}), []
    reason = refusal_of(witness)
    if reason is not None:
        return Counter({"wrong": 1}), [f"is not proved: {reason} {json.dumps(witness['steps'])}"]
    counts, lines = Counter({"proved": 1}), []
    made = one_falsified(witness, random.Random(seed)) if options.false else {}
    for kind, value in made.items():
        if refusal_of(value) is None:
            counts["wrong"] += 1
            lines.append(f"is proved although it is false: {kind}")
        else:
            counts[f"refused: {kind}"] += 1
    return counts, lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 100))
    parser.add_argument("--most-steps", type=float, default=1e5)
    parser.add_argument("--false", action="store_true", help="also make one of each false")
    parser.add_argument("--seconds", type=float, default=0.0, help="give a seed up (POSIX)")
    options = parser.parse_args()
    if options.seconds:
        signal.signal(signal.SIGVTALRM, _give_up)
    counts = Counter()
    for seed in range(*options.seeds):
        try:
            if options.seconds:
                signal.setitimer(signal.ITIMER_VIRTUAL, options.seconds)
            found, lines = tried(seed, options)
        except TimeoutError:
            found, lines = Counter({"given up": 1}), ["is given up"]
        finally:
            if options.seconds:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        counts += found
        for line in lines:
            print(seed, line, flush=True)
        if (seed + 1) % _EACH == 0 or seed + 1 == options.seeds[1]:
            print(f"up to {seed}: {dict(counts)}", flush=True)
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
