"""Random questions: what is composed, how it is asked, and where."""

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr

import prvcore as prv

from .data import records


class GaussianCDF:
    """A distribution function of the loss of N(0, s^2) against N(1, s^2), under Q or P."""

    def __init__(self, noise, sign):
        self.noise, self.sign, self.like = noise, sign, prv.Gaussian(noise)

    def __call__(self, losses):
        return ndtr(losses * self.noise - self.sign * 0.5 / self.noise)

    def __repr__(self):
        return f"GaussianCDF({self.noise!r}, {self.sign!r})"


class ResponseCurve:
    """The privacy curve of PureDP(single), a chain of segments in e^epsilon."""

    def __init__(self, single):
        self.single, self.like = single, prv.PureDP(single)

    def __call__(self, epsilons):
        t = np.minimum(epsilons, self.single)
        inside = -np.expm1(t - self.single) / (1.0 + math.exp(-self.single))
        return np.where(epsilons < -self.single, -np.expm1(np.minimum(epsilons, 0.0)), inside)

    def __repr__(self):
        return f"ResponseCurve({self.single!r})"


@dataclass(frozen=True)
class Setting:
    """What is composed, with `options` for compose, and what is asked of it.

    questions are pairs (name, point); 'share' is delta at so much of the last epsilon answered.
    askers: 'curve', 'functions', 'accountant'. patience multiplies that of all settings.
    refusable: prvcore may raise ValueError. records: pairs of neighbouring data sets, of which no
    upper bound may be exceeded.
    """

    kind: str
    steps: tuple
    questions: tuple
    options: dict = field(default_factory=dict)
    askers: tuple = ("curve",)
    patience: float = 1.0
    refusable: bool = False
    records: tuple = ()
    bits: int = 160  # of the balls

    def __repr__(self):
        steps = ", ".join(f"({mechanism!r}, {count})" for mechanism, count in self.steps[:8])
        if len(self.steps) > 8:
            steps += f", ... {len(self.steps)} in all"
        if len(steps) > 1500:
            steps = f"{steps[:700]} ... {steps[-300:]}"
        options = "".join(f", {key}={value!r}" for key, value in self.options.items())
        records = f" with {self.records}" if self.records else ""
        return f"compose([{steps}]{options}){records}"


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

REPLACED = ("randomized response", "replaced", "replaced poisson", "fixed size", "replaced list")
SINGLE = tuple(KINDS)[:18]


def draw(seed, number, kinds=KINDS):
    """Return setting `number` of a seed, of one of the kinds; whatever others were drawn."""
    rng = np.random.default_rng([seed, number])
    names = tuple(kinds)
    weights = np.array([KINDS[name] for name in names])
    kind = str(rng.choice(names, p=weights / weights.sum()))
    if kind in SPECIAL:
        return SPECIAL[kind](rng, kind)
    return _setting(rng, kind, _steps(rng, kind), _epsilon_and_near(rng), _options(rng, kind))


def _steps(rng, kind):
    if kind == "list":
        return tuple(_smooth_step(rng) for _ in range(rng.integers(2, _upto(rng, 12) + 1)))
    if kind == "replaced list":
        return tuple(_replaced_step(rng) for _ in range(rng.integers(2, 6)))
    if kind == "discrete list":
        return tuple(_discrete_step(rng) for _ in range(rng.integers(2, 5)))
    count = int(log_uniform(rng, 1e6, 2**53)) if kind == "very many gaussian" else _count(rng, kind)
    return ((_mechanism(rng, kind, count), count),)


def _setting(rng, kind, steps, questions, options, **more):
    askers = ["curve"]
    if len(steps) > 1 or rng.random() < 0.15:
        askers.append("accountant")
    if rng.random() < 0.2:
        askers.append("functions")
    return Setting(kind, tuple(steps), tuple(questions), options, tuple(askers), **more)


def _epsilon_and_near(rng):
    share = float(rng.choice([0.97, 0.9, 0.5, -0.3]))
    return [("epsilon", _delta(rng)), ("share", 1.0), ("share", share)]


# ---- Numbers -----------------------------------------------------------------------------------


def log_uniform(rng, low, high):
    return float(math.exp(rng.uniform(math.log(low), math.log(high))))


def _upto(rng, most):
    return int(log_uniform(rng, 2, most + 1))


def _noise(rng, count):
    """Return a noise; often one with which so many steps still have some privacy."""
    noise = log_uniform(rng, 0.2, 200)
    return noise * math.sqrt(count) ** float(rng.choice([0.0, 0.5, 1.0]))


# what the oracle can compose
MOST = {
    **dict.fromkeys(("laplace", "bounded range"), 60),
    **dict.fromkeys(("sampled laplace", "fixed size", "truncated", "own cdfs"), 2),
    **dict.fromkeys(("table", "sampled table", "sampled discrete"), 12),
    **dict.fromkeys(("discrete gaussian", "discrete laplace"), 100),
    **dict.fromkeys(("pure", "approximate", "own curve", "replaced"), 3000),
    **dict.fromkeys(("randomized response", "sampled approximate"), 200),
}


def _count(rng, kind="", most=1e6):
    most = MOST.get(kind, most)
    return int(log_uniform(rng, 1, 8)) if rng.random() < 0.25 else int(log_uniform(rng, 1, most))


def _probability(rng):
    chance = rng.random()
    if chance < 0.05:
        return 1.0
    if chance < 0.12:
        return 1.0 - log_uniform(rng, 1e-13, 0.1)
    return log_uniform(rng, 1e-7, 1.0)


def _delta(rng):
    if rng.random() < 0.6:
        return log_uniform(rng, 1e-15, 0.9)
    return log_uniform(rng, 1e-200, 1e-15)


def _neighbors(rng, kind=""):
    if kind in REPLACED:
        return "replace-one"
    return str(rng.choice(["add", "remove", "add-or-remove"]))


def _options(rng, kind="", neighbors=None):
    neighbors = neighbors or _neighbors(rng, kind)
    if kind == "truncated" and rng.random() < 0.4:
        neighbors = "replace-one"
    options = {"neighbors": neighbors}
    engine = str(rng.choice(["auto", "convolution", "spectrum"], p=[0.4, 0.3, 0.3]))
    if engine != "auto":
        options["engine"] = engine
    chance = rng.random()
    if chance < 0.35:
        options["eps_error"] = log_uniform(rng, 1e-4, 3.0)
    elif chance < 0.6:
        options["mesh_size"] = log_uniform(rng, 1e-5, 10.0)
    elif chance < 0.65 and kind != "own curve" and engine != "spectrum":
        options["discretization"] = "mean-matching"
        options["eps_error"] = log_uniform(rng, 1e-2, 3.0)
    return options


def _ulps(rng, x, most=64):
    """Return a double beside x, or x itself."""
    for _ in range(int(log_uniform(rng, 1, most + 1)) - 1 + int(rng.integers(2))):
        x = math.nextafter(x, math.inf)
    return x


def _beside(rng, x, most=64):
    """Return a double some units in the last place from x, on either side, or x itself."""
    steps = 0 if rng.random() < 0.15 else int(log_uniform(rng, 1, most + 1))
    goal = math.inf if rng.random() < 0.5 else -math.inf
    for _ in range(steps):
        x = math.nextafter(x, goal)
    return x


# ---- Mechanisms --------------------------------------------------------------------------------


def _mechanism(rng, kind, count):
    p = _probability(rng)
    if kind in ("sampled gaussian", "replaced poisson"):
        return prv.PoissonSubsampledGaussian(_noise_of_samples(rng, count, p), p)
    if kind == "truncated":
        size = int(log_uniform(rng, 2, 1000))
        spread = math.sqrt(size * p * (1.0 - p)) + 0.5
        batch = max(1, min(size, round(size * p + spread * rng.uniform(-3.0, 8.0))))
        noise = _noise_of_samples(rng, count, p)
        return prv.TruncatedPoissonSubsampledGaussian(noise, p, size, batch)
    if kind == "replaced":
        return _mechanism(rng, str(rng.choice(NOT_SAMPLED)), count)
    if kind == "fixed size":
        if rng.random() < 0.5:
            base = prv.Gaussian(_noise_of_samples(rng, count, p))
        else:
            base = _mechanism(rng, str(rng.choice(NOT_SAMPLED)), max(1, int(count * p * p)))
        return prv.SubsampledWithoutReplacement(base, p)
    if kind == "mixture":
        noise = max(0.2, p * math.sqrt(count) * log_uniform(rng, 0.3, 30))
        if rng.random() < 0.5:
            return prv.GroupPoissonSubsampledGaussian(noise, p, int(rng.integers(2, 6)))
        size = int(rng.integers(2, 5))
        weights = np.array([1.0 - p, *(p * rng.dirichlet(np.ones(size - 1)))])
        centers = [0.0, *np.cumsum(rng.uniform(0.1, 1.5, size - 1))]
        return prv.MixtureOfGaussians(noise, centers, weights)
    if kind in ("gaussian", "very many gaussian"):
        return prv.Gaussian(_noise(rng, count))
    if kind == "laplace":
        return prv.Laplace(_noise(rng, count), float(rng.choice([1.0, 0.3, 7.0])))
    if kind == "sampled laplace":
        return prv.PoissonSubsampled(prv.Laplace(_noise(rng, count * p)), p)
    if kind == "pure":
        return prv.PureDP(1.0 / _noise(rng, count))
    if kind == "bounded range":
        return prv.BoundedRange(1.0 / _noise(rng, count))
    if kind == "randomized response":
        return prv.RandomizedResponse(1.0 / _noise(rng, count), _upto(rng, 1e6))
    if kind == "approximate":
        return prv.ApproximateDP(1.0 / _noise(rng, count), log_uniform(rng, 1e-15, 1e-2))
    if kind == "discrete gaussian":
        return prv.DiscreteGaussian(log_uniform(rng, 0.2, 30), int(rng.integers(1, 4)))
    if kind == "discrete laplace":
        return prv.DiscreteLaplace(_noise(rng, count), int(rng.integers(1, 6)))
    if kind == "table":
        return _table(rng, int(rng.integers(1, 6)))
    if kind == "own cdfs":
        noise = _noise(rng, count)
        return prv.FromCDFs(GaussianCDF(noise, 1), GaussianCDF(noise, -1))
    if kind == "own curve":
        return prv.FromPrivacyCurve(ResponseCurve(1.0 / _noise(rng, count)))
    if kind == "sampled approximate":
        base = prv.ApproximateDP(1.0 / _noise(rng, count * p), log_uniform(rng, 1e-15, 1e-2))
    elif kind == "sampled table":
        base = _table(rng, int(rng.integers(1, 4)))
    else:
        base = [
            prv.PureDP(1.0 / _noise(rng, 1)),
            prv.DiscreteLaplace(_noise(rng, 1), 1),
            prv.DiscreteLaplace(_noise(rng, 1), 2),
            prv.DiscreteGaussian(log_uniform(rng, 0.2, 5.0), 1),
        ][rng.integers(4)]
    return prv.PoissonSubsampled(base, p)


NOT_SAMPLED = (
    *("gaussian", "laplace", "pure", "approximate", "bounded range", "randomized response"),
    *("discrete gaussian", "discrete laplace"),
)


def _noise_of_samples(rng, count, p):
    if rng.random() < 0.6:  # where the answer is neither 0 nor huge
        return max(0.2, min(200.0, p * math.sqrt(count) * log_uniform(rng, 0.3, 10)))
    return log_uniform(rng, 0.2, 200)


def _table(rng, size):
    """Return a table, its losses moved up until P has no more mass than 1."""
    gaps = np.exp(rng.uniform(math.log(1e-4), math.log(2.0), size))
    masses = np.exp(rng.uniform(math.log(1e-9), 0.0, size))
    infinite = float(rng.choice([0.0, 1e-9, 1e-30]))
    masses *= (1.0 - infinite) / masses.sum()
    losses = np.cumsum(gaps)
    losses += np.log((masses * np.exp(-losses)).sum()) + float(rng.choice([1e-7, 0.1]))
    return prv.FromTable(losses, masses, infinite)


def _smooth_step(rng):
    kinds = ["sampled gaussian", "mixture", "gaussian", "laplace", "pure", "bounded range"]
    kind = str(rng.choice(kinds, p=[0.5, 0.15, 0.15, 0.1, 0.05, 0.05]))
    count = _count(rng, most=1e5)
    return _of_one_record(rng, kind, count), count


def _of_one_record(rng, kind, count):
    """Return a mechanism that composes with others: groups do with groups of their size alone."""
    while True:
        mechanism = _mechanism(rng, kind, count)
        if not isinstance(mechanism, prv.GroupPoissonSubsampledGaussian):
            return mechanism


def _replaced_step(rng):
    kinds = ["replaced poisson", "fixed size", "truncated", "gaussian", "bounded range"]
    kind = str(rng.choice(kinds))
    count = _count(rng, kind, 1e4)
    return _mechanism(rng, kind, count), count


def _discrete_step(rng):
    kinds = ["pure", "approximate", "discrete laplace", "sampled approximate", "table", "own curve"]
    kind = str(rng.choice(kinds))
    count = int(log_uniform(rng, 1, 4 if kind in ("table", "sampled approximate") else 20))
    return _mechanism(rng, kind, count), count


def _finite_kind(rng):
    """Return a kind of which the oracle composes many."""
    kinds = ("sampled gaussian", "gaussian", "mixture", "laplace", "pure", "approximate", "table")
    more = ("sampled laplace", "sampled discrete", "discrete laplace", "sampled table", "own cdfs")
    return str(rng.choice([*kinds, *more]))


# ---- Kinds with questions of their own -----------------------------------------------------------


def _negative(rng, kind):
    base = _finite_kind(rng)
    count = _count(rng, base, 1e4)
    steps = ((_mechanism(rng, base, count), count),) if rng.random() < 0.93 else ()
    points = [-log_uniform(rng, 1e-17, 40.0) for _ in range(3)]
    # what is all loss, or none: beside the floor 1 - e^epsilon
    questions = [("delta", x) for x in (*points, float(rng.choice([-math.inf, -0.0, -750.0])))]
    options = _options(rng, base)
    options.pop("discretization", None)
    return _setting(rng, kind, steps, questions, options)


def _beside_infinite(rng, kind):
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
            p = _probability(rng)
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
    asked = [_beside(rng, mass, most) for most in (1, 4, 64, 1000)]
    questions = [("epsilon", min(max(x, 0.0), 1.0)) for x in asked] + [("delta", math.inf)]
    options = _options(rng, neighbors=neighbors)
    options.pop("discretization", None)
    return _setting(rng, kind, steps, questions, options)


def _infinite(step, neighbors):
    if isinstance(step, prv.PoissonSubsampled):
        if neighbors == "add" and step.sampling_probability < 1.0:
            return 0.0
        return step.sampling_probability * _infinite(step.mechanism, neighbors)
    return getattr(step, "delta", getattr(step, "mass_at_infinity", 0.0))


def _tiny(rng, kind):
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
    options = _options(rng)
    options.pop("discretization", None)
    return _setting(rng, kind, ((step, count),), questions, options)


def _tiny_probabilities(rng, kind):
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
    return _setting(
        rng, kind, ((step, count),), questions, _width_options(rng), refusable=True, bits=3000
    )


def _greatest(rng, kind):
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
    count = 1 if rng.random() < 0.5 else _count(rng, base, 3)
    step = _mechanism(rng, base, count)
    neighbors = _neighbors(rng, base)
    if base == "sampled gaussian":
        neighbors = "add"
    top = prv.compose(step, count, neighbors=neighbors).epsilon(0.0)
    questions = [("epsilon", x) for x in (0.0, 5e-324, log_uniform(rng, 1e-320, 1e-290))]
    if top.upper < math.inf:
        questions += [("delta", _beside(rng, x, 30)) for x in top]
        questions.append(("delta", top.estimate * (1.0 - log_uniform(rng, 1e-16, 1e-3))))
    return _setting(rng, kind, ((step, count),), questions, _width_options(rng, neighbors))


def _beside_knot(rng, kind):
    """A heavy atom some units in the last place from a knot or another, and rare ones beside it."""
    step = float(2.0 ** -rng.integers(2, 8)) if rng.random() < 0.5 else log_uniform(rng, 5e-3, 0.5)
    low = -step * int(rng.integers(1, 8))
    heavy = _beside(
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
        at = heavy + gap if rng.random() < 0.8 else _beside(rng, heavy, 3)
        if at not in losses and at > 0.0:
            losses.append(at)
            masses.append(log_uniform(rng, 1e-22, 1e-8))
            rares.append((at, masses[-1]))
    if rng.random() < 0.5:  # a heavy atom close to the other
        other = _beside(rng, heavy, 2)
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
    questions.append(("delta", count * _beside(rng, heavy, 4)))
    questions.append(("delta", low * rng.uniform(0.0, 1.5)))
    options = _options(rng)
    options.pop("discretization", None)
    options.pop("mesh_size", None)
    if rng.random() < 0.6:
        options["mesh_size"] = step
    if rng.random() < 0.15:
        table = prv.PoissonSubsampled(table, float(rng.choice([0.5, 0.999, 0.1])))
    return _setting(rng, kind, ((table, count),), questions, options)


def _crowd(rng, kind):
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


def _distinct_masses(rng, kind):
    size = int(log_uniform(rng, 100, 10_000))
    mass = log_uniform(rng, 1e-12, 0.9 / size)
    first, pace = log_uniform(rng, 1e-4, 1e-2), log_uniform(rng, 1e-9, 1e-5)
    drift = float(rng.choice([0.0, log_uniform(rng, 1e-6, 1e-2)])) / size
    steps = [
        (prv.ApproximateDP(first + pace * i, mass * (1.0 + drift * i)), 1) for i in range(size)
    ]
    left = math.fsum(math.log1p(-step.delta) for step, _ in steps)
    whole = -math.expm1(left)
    questions = [("epsilon", _beside(rng, whole, most)) for most in (1, 16, 1000)]
    questions += [("delta", math.inf), ("delta", 1e6)]
    options = {"neighbors": str(rng.choice(["add", "remove", "add-or-remove"]))}
    askers = ("curve", "accountant") if size < 400 else ("curve",)
    return Setting(kind, tuple(steps), tuple(questions), options, askers, patience=10.0)


def _distinct_steps(rng, kind):
    size = int(log_uniform(rng, 500, 10_000))
    scale = math.sqrt(size) * log_uniform(rng, 0.3, 3.0)
    pace = log_uniform(rng, 1e-6, 1e-2)
    steps = [(prv.Gaussian(scale + pace * i), 1 + i % 3) for i in range(size)]
    if rng.random() < 0.5:
        steps.insert(int(rng.integers(size)), (prv.ApproximateDP(0.1, 1e-7), 1))
    questions = [("delta", log_uniform(rng, 0.1, 3.0)), ("epsilon", log_uniform(rng, 1e-9, 1e-2))]
    return Setting(kind, tuple(steps), tuple(questions), {}, ("curve",), patience=30.0)


def _history(rng, kind):
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
        runs = _count(rng, name, 1e3)
        steps.append((_of_one_record(rng, name, runs), runs))
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


def _group(rng, kind):
    p, size = _probability(rng), int(log_uniform(rng, 1, 12))
    count = 1 if rng.random() < 0.5 else int(log_uniform(rng, 1, 300))
    noise = max(0.1, p * size * math.sqrt(count) * log_uniform(rng, 0.3, 10))
    step = prv.GroupPoissonSubsampledGaussian(noise, p, size)
    refusable = False
    if kind == "group sampled again":
        step = prv.PoissonSubsampled(step, float(rng.choice([1.0, 0.5, _probability(rng)])))
        if rng.random() < 0.2:
            step = prv.PoissonSubsampled(step, 0.7)
        refusable = True
    options = _options(rng)
    options.pop("discretization", None)
    questions = [*_epsilon_and_near(rng), ("delta", 0.0), ("delta", rng.uniform(0.0, 1.5))]
    return _setting(rng, kind, ((step, count),), questions, options, refusable=refusable)


def _twice(rng, kind):
    base = [
        lambda: prv.Gaussian(log_uniform(rng, 0.3, 3.0)),
        lambda: prv.PureDP(log_uniform(rng, 0.1, 5.0)),
        lambda: prv.Laplace(log_uniform(rng, 0.3, 5.0)),
        lambda: prv.ApproximateDP(log_uniform(rng, 0.1, 3.0), log_uniform(rng, 1e-9, 0.1)),
        lambda: prv.DiscreteLaplace(log_uniform(rng, 0.3, 5.0)),
    ][rng.integers(5)]()
    p = _probability(rng)
    step = prv.PoissonSubsampled(base, p)
    if isinstance(base, prv.Gaussian) and rng.random() < 0.5:
        step = prv.PoissonSubsampledGaussian(base.noise_multiplier, p)
    for _ in range(int(rng.integers(1, 3))):
        step = prv.PoissonSubsampled(step, _probability(rng))
    count = 1 if rng.random() < 0.6 else int(log_uniform(rng, 1, 6))
    options = _options(rng)
    options.pop("discretization", None)
    questions = [*_epsilon_and_near(rng), ("delta", 0.0)]
    return _setting(rng, kind, ((step, count),), questions, options)


def _ranges(rng, kind):
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
    return _setting(rng, kind, steps, questions, _width_options(rng), patience=2.0)


def _width_options(rng, neighbors=None):
    options = _options(rng, neighbors=neighbors)
    options.pop("discretization", None)
    options.pop("mesh_size", None)
    return options


def _fixed_size_composed(rng, kind):
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
    return _setting(rng, kind, ((step, count),), questions, _width_options(rng, "replace-one"))


def _small_data(rng, kind):
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
    return _setting(rng, kind, ((step, count),), questions, _width_options(rng, neighbors))


def _records(rng, kind):
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
    options = _width_options(rng, neighbors)
    askers, pairs = ("curve",), tuple(pairs)
    return Setting(
        kind, ((step, count),), tuple(questions), options, askers, patience=2.0, records=pairs
    )


def _power(rng, kind):
    base = str(rng.choice(["gaussian", "gaussian", "approximate", "pure", "table", "laplace"]))
    count = _count(rng, base, 200)
    if base == "table":
        count = 1
    steps = ((_mechanism(rng, base, count), count),)
    rates = [log_uniform(rng, 1e-30, 1.0), log_uniform(rng, 1e-6, 1.0)]
    rates.append(float(rng.choice([0.0, 1.0, 0.5])))
    questions = [("power", x) for x in rates] + [("trade_off", x) for x in rates[:2]]
    return _setting(rng, kind, steps, questions, _width_options(rng))


def _mu(rng, kind):
    base = str(rng.choice(["gaussian", "gaussian", "sampled gaussian", "pure", "approximate"]))
    count = _count(rng, base, 200)
    steps = ((_mechanism(rng, base, count), count),)
    questions = [("mu", log_uniform(rng, 1e-12, 0.3)), ("mu", log_uniform(rng, 1e-4, 0.9))]
    return _setting(rng, kind, steps, questions, _width_options(rng), patience=2.0)


def _renyi(rng, kind):
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
        step = _mechanism(rng, str(rng.choice(kinds)), count)
    orders = [float(rng.choice([2.0, 3.0, 4.0, 1.5, 1.25, 6.0, 17.0])) for _ in range(2)]
    options = {"neighbors": str(rng.choice(["add", "remove", "add-or-remove"]))}
    return _setting(rng, kind, ((step, count),), [("renyi", x) for x in orders], options)


def _calibration(rng, kind):
    delta, epsilon = log_uniform(rng, 1e-9, 1e-2), log_uniform(rng, 0.1, 8.0)
    p = log_uniform(rng, 1e-3, 0.5)
    step, parameter, count = [
        lambda: (prv.Gaussian(1.0), "noise_multiplier", int(log_uniform(rng, 1, 1000))),
        lambda: (prv.PoissonSubsampledGaussian(1.0, p), "noise_multiplier", _upto(rng, 1000)),
        lambda: (prv.PoissonSubsampledGaussian(1.0, p), "sampling_probability", _upto(rng, 1000)),
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


def _mean_matching(rng, kind):
    base = str(rng.choice(["sampled gaussian", "gaussian", "laplace", "pure", "approximate"]))
    count = _count(rng, base, 1e4)
    options = {"neighbors": _neighbors(rng), "discretization": "mean-matching"}
    options["eps_error"] = log_uniform(rng, 1e-2, 3.0)
    if rng.random() < 0.5:
        options["delta_error"] = log_uniform(rng, 1e-12, 1e-6)
    questions = [("epsilon", log_uniform(rng, 1e-8, 0.5)), ("share", 1.0), ("share", 0.5)]
    return _setting(rng, kind, ((_mechanism(rng, base, count), count),), questions, options)


def _mesh(rng, kind):
    base = _finite_kind(rng)
    count = _count(rng, base, 1e3)
    options = {"neighbors": _neighbors(rng), "mesh_size": log_uniform(rng, 1e-3, 10.0)}
    if rng.random() < 0.5:
        options["engine"] = str(rng.choice(["convolution", "spectrum"]))
    questions = [*_epsilon_and_near(rng), ("delta", log_uniform(rng, 1e-3, 5.0))]
    return _setting(rng, kind, ((_mechanism(rng, base, count), count),), questions, options)


SPECIAL = {
    "negative epsilons": _negative,
    "beside the mass at infinity": _beside_infinite,
    "tiny losses": _tiny,
    "tiny probabilities": _tiny_probabilities,
    "greatest loss": _greatest,
    "beside a knot": _beside_knot,
    "crowd": _crowd,
    "distinct masses at infinity": _distinct_masses,
    "distinct steps": _distinct_steps,
    "history": _history,
    "group": _group,
    "group sampled again": _group,
    "sample of a sample": _twice,
    "bounded range composed": _ranges,
    "fixed size composed": _fixed_size_composed,
    "small data sets": _small_data,
    "records in the plane": _records,
    "power": _power,
    "gaussian mu": _mu,
    "renyi": _renyi,
    "calibration": _calibration,
    "mean-matching": _mean_matching,
    "explicit mesh": _mesh,
}
