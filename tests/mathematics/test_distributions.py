"""Noise of scipy.stats: its functions, its bounds and what they allow for, against 40 digits."""

import pickle
from functools import partial

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import prvcore as prv
from prvcore._core import mechanism as core
from prvcore.files.mechanisms import mechanism_from_dict
from prvcore.mechanisms import distribution as module

stats = pytest.importorskip("scipy.stats")
pytestmark = pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")


# ---- The truth ---------------------------------------------------------------------------------


def normal_upper(x):
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def laplace_upper(x):
    return mpmath.exp(-x) / 2 if x > 0 else 1 - mpmath.exp(x) / 2


def logistic_upper(x):
    return 1 / (1 + mpmath.exp(x))


def secant_upper(x):
    return 2 / mpmath.pi * mpmath.atan(mpmath.exp(-x))


def gumbel_upper(x):
    return -mpmath.expm1(-mpmath.exp(-x))


def gumbel_lower(x):
    return mpmath.exp(-mpmath.exp(-x))


# Log density, distribution function and survival function.
TRUTH = {
    "norm": (
        lambda x: -x * x / 2 - mpmath.log(2 * mpmath.pi) / 2,
        lambda x: normal_upper(-x),
        normal_upper,
    ),
    "laplace": (lambda x: -abs(x) - mpmath.log(2), lambda x: laplace_upper(-x), laplace_upper),
    "logistic": (
        lambda x: -x - 2 * mpmath.log1p(mpmath.exp(-x)),
        lambda x: logistic_upper(-x),
        logistic_upper,
    ),
    "hypsecant": (
        lambda x: -mpmath.log(mpmath.pi * mpmath.cosh(x)),
        lambda x: secant_upper(-x),
        secant_upper,
    ),
    "gumbel_r": (lambda x: -x - mpmath.exp(-x), gumbel_lower, gumbel_upper),
    "gumbel_l": (
        lambda x: x - mpmath.exp(x),
        lambda x: gumbel_upper(-x),
        lambda x: gumbel_lower(-x),
    ),
}


def exact(name, shift, epsilon):
    """Return the greatest S(c - shift) - e^epsilon S(c), where the log ratio crosses epsilon."""
    density, _, upper = TRUTH[name]
    with mpmath.workdps(60):
        shift, epsilon = mpmath.mpf(shift), mpmath.mpf(epsilon)
        low, high = mpmath.mpf(-3000), mpmath.mpf(3000)
        for _ in range(130):  # at the greatest value an error of the place counts by its square
            middle = (low + high) / 2
            ratio = density(middle - shift) - density(middle)
            low, high = (middle, high) if ratio < epsilon else (low, middle)
        found = upper(high - shift) - mpmath.exp(epsilon) * upper(high)
        return max(found, -mpmath.expm1(epsilon), mpmath.mpf(0))


def gaussian_delta(mu, epsilon):
    with mpmath.workdps(40):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        place = epsilon / mu - mu / 2
        return normal_upper(place) - mpmath.exp(epsilon) * normal_upper(place + mu)


# ---- The functions -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", TRUTH)
def test_functions_that_are_known_are_better_than_is_said(name):
    make, _ = module._KNOWN[name]
    noise = make()
    rng = np.random.default_rng(5)
    width = {"norm": 38.0, "gumbel_r": 6.6, "gumbel_l": 6.6}.get(name, 740.0)
    near = rng.uniform(-width, width, 400)
    far = rng.uniform(0.0, 740.0 if "gumbel" in name else width, 200)
    places = np.concatenate([near, -far if name == "gumbel_l" else far, rng.normal(size=200)])
    places = np.append(places, [0.0, 1e-300, -1e-300, 19.9, 20.1, 39.9, 40.1])
    if name == "gumbel_r":
        places = places[places > -6.6]
    elif name == "gumbel_l":
        places = places[places < 6.6]
    density, lower, upper = TRUTH[name]
    ours = (noise.log_density, noise.log_lower, noise.log_upper)

    def log_of(tail, other):
        return lambda x: mpmath.log1p(-other(x)) if other(x) < 0.5 else mpmath.log(tail(x))

    truths = (density, log_of(lower, upper), log_of(upper, lower))
    for function, truth in zip(ours, truths, strict=True):
        with np.errstate(all="ignore"):
            values = function(places).tolist()
        for place, value in zip(places.tolist(), values, strict=True):
            with mpmath.workdps(40):
                wanted = truth(mpmath.mpf(place))
                off = abs(mpmath.mpf(value) - wanted) / max(1, abs(wanted))
            assert off <= noise.error / 4, (function, place)


# ---- Bounds --------------------------------------------------------------------------------------


EPSILONS = [-30.0, -0.7, 0.0, 0.3, 2.5, 20.0]


@pytest.mark.slow
@pytest.mark.parametrize("name", TRUTH)
@pytest.mark.parametrize("scale", [0.25, 8.0])
def test_one_use_is_enclosed(name, scale):
    increasing = True if "gumbel" in name else None
    mechanism = prv.FromDistribution(getattr(stats, name)(scale=scale), increasing=increasing)
    mirrored = {"gumbel_r": "gumbel_l", "gumbel_l": "gumbel_r"}.get(name, name)
    for relation, of in (("remove", name), ("add", mirrored)):
        bounds = prv.compose(mechanism, neighbors=relation).delta(EPSILONS)
        for i, epsilon in enumerate(EPSILONS):
            truth = exact(of, 1 / mpmath.mpf(scale), epsilon)
            assert bounds.lower[i] <= truth <= bounds.upper[i], (relation, epsilon)
            assert bounds.upper[i] <= 1.1 * truth + 1e-9
            assert bounds.lower[i] >= 0.9 * truth - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 10, 1000])
@pytest.mark.parametrize("multiplier", [0.7, 60.0])
def test_gaussian_noise_is_enclosed_however_often_it_runs(count, multiplier):
    mechanism = prv.FromDistribution(stats.norm(loc=3.0, scale=2.0 * multiplier), sensitivity=2.0)
    curve = prv.compose(mechanism, count)
    with mpmath.workdps(40):
        mu = mpmath.sqrt(count) / mpmath.mpf(multiplier)
    for delta in (0.3, 1e-8, 1e-30):
        lower, _, upper = curve.epsilon(delta)
        assert lower == 0.0 or gaussian_delta(mu, lower) >= delta
        assert gaussian_delta(mu, upper) <= delta
        assert upper - lower <= 2e-3 * max(upper, 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 10, 1000])
def test_bounds_meet_those_of_the_mechanisms_that_are_there(count):
    pairs = [
        (prv.FromDistribution(stats.laplace(scale=4.0)), prv.Laplace(4.0)),
        (
            prv.PoissonSubsampled(prv.FromDistribution(stats.norm(scale=2.0), 2.0), 0.1),
            prv.PoissonSubsampledGaussian(1.0, 0.1),
        ),
        (
            prv.PoissonSubsampled(prv.FromDistribution(stats.laplace(0.0, 0.5), 0.5), 0.02),
            prv.PoissonSubsampled(prv.Laplace(1.0), 0.02),
        ),
    ]
    for ours, known in pairs:
        for relation in ("add", "remove"):
            found = prv.compose(ours, count, neighbors=relation).epsilon([1e-3, 1e-8])
            closed = prv.compose(known, count, neighbors=relation).epsilon([1e-3, 1e-8])
            assert (found.upper >= closed.lower).all()
            assert (found.lower <= closed.upper).all()
            assert found.upper == pytest.approx(closed.upper, rel=4e-3)


def logistic_curve(epsilons):
    """Return delta of logistic noise of scale 2, by the place where the ratio of densities is."""
    shift, y = np.longdouble(0.5), np.asarray(epsilons, dtype=np.longdouble)
    half = np.exp(0.5 * (np.clip(y, -shift, shift) - shift))
    with np.errstate(all="ignore"):
        z = -np.expm1(0.5 * (np.clip(y, -shift, shift) - shift)) / (half * np.exp(shift) - 1.0)
        raised = np.where(np.isinf(z), 1.0, z * np.exp(shift) / (1.0 + z * np.exp(shift)))
        plain = np.where(np.isinf(z), 1.0, z / (1.0 + z))
    return (raised - np.exp(np.minimum(y, shift)) * plain).astype(np.float64)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 10, 1000])
def test_logistic_noise_meets_its_privacy_curve(count):
    for epsilon in (-0.4, 0.0, 0.3):
        truth = float(exact("logistic", 0.5, epsilon))
        assert logistic_curve([epsilon])[0] == pytest.approx(truth, rel=1e-14)
    other = prv.compose(prv.FromPrivacyCurve(logistic_curve), count).epsilon([1e-2, 1e-7])
    found = prv.compose(prv.FromDistribution(stats.logistic(scale=2.0)), count)
    found = found.epsilon([1e-2, 1e-7])
    assert (found.upper >= other.lower).all()
    assert (found.lower <= other.upper).all()
    assert found.upper == pytest.approx(other.upper, rel=4e-3)


@pytest.mark.slow
@settings(max_examples=25)
@given(
    name=st.sampled_from(["norm", "logistic", "laplace"]),
    exponent=st.floats(-40.0, 40.0),
    multiplier=st.floats(-2.0, 3.0),
    location=st.floats(-1e40, 1e40),
    epsilon=st.floats(0.0, 8.0),
)
@example(name="laplace", exponent=0.0, multiplier=0.0, location=0.0, epsilon=1.0)
def test_scales_and_locations_do_not_matter(name, exponent, multiplier, location, epsilon):
    scale, sensitivity = 10.0**exponent, 10.0 ** (exponent - multiplier)
    frozen = getattr(stats, name)(loc=location, scale=scale)
    bounds = prv.compose(prv.FromDistribution(frozen, sensitivity)).delta(epsilon)
    with mpmath.workdps(60):
        shift = mpmath.mpf(sensitivity) / mpmath.mpf(scale)
        truth = exact(name, shift, epsilon)
        near = exact(name, shift, epsilon - 2e-3 * max(epsilon, 1e-3))  # the width asked, and more
    assert bounds.lower <= truth <= bounds.upper
    assert bounds.upper <= max(1.1 * truth, near) + 1e-8


# ---- What the bounds allow for -------------------------------------------------------------------


def off_by(error, seed, is_reversed, losses):
    """Return tails of Gaussian noise of shift 1, each off by as much as `error` allows."""
    rng = np.random.default_rng([seed, losses.size])
    sign = (lambda: rng.choice([-1.0, 1.0], losses.size)) if seed else (lambda: 1.0)
    # places at which the loss is off, which still rise
    places = np.maximum.accumulate(losses + 0.999 * error * sign()) + 0.5
    q, p = module._normal().log_upper(places - 1.0), module._normal().log_upper(places)
    lower_q, lower_p = module._normal().log_lower(places - 1.0), module._normal().log_lower(places)
    tails = []
    for upper, lower in ((q, lower_q), (p, lower_p)):
        is_upper = upper < lower
        size = np.where(is_upper, np.exp(upper), np.exp(lower)) * (1.0 + 0.99 * error * sign())
        tails.append(np.where(is_upper, size, -size))
    scaled = np.exp(np.minimum(losses + p, 0.5)) * (1.0 + 0.99 * error * sign())
    return *tails, scaled, error


@pytest.mark.slow
@pytest.mark.parametrize("error", [1e-12, 1e-9, 1e-6])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_whatever_the_errors_are(error, seed, monkeypatch):
    handle = core.tails(partial(off_by, error, seed), True)
    monkeypatch.setattr(prv.FromDistribution, "_handle", lambda self: handle)
    mechanism = prv.FromDistribution(stats.norm())
    for count in (1, 10, 1000):
        curve = prv.compose(mechanism, count)
        mu = mpmath.sqrt(count)
        for delta in (1e-2, 1e-7):
            lower, _, upper = curve.epsilon(delta)
            assert lower == 0.0 or gaussian_delta(mu, lower) >= delta
            assert upper == np.inf or gaussian_delta(mu, upper) <= delta
            if count * error <= 1e-5:
                assert upper - lower <= 0.02 * upper


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda q, p, s, e: (q, q, s, e), ValueError),  # no pair
        (lambda q, p, s, e: (-q, p, s, e), ValueError),
        (lambda q, p, s, e: (2.0 * q, p, s, e), ValueError),
        (lambda q, p, s, e: (q, p, s, 0.1), ValueError),
        (lambda q, p, s, e: (q, p, s, np.nan), ValueError),
        (lambda q, p, s, e: (np.full(q.size, np.nan), p, s, e), ValueError),
    ],
)
def test_tails_of_no_pair_are_refused(change, error, monkeypatch):
    handle = core.tails(lambda *given: change(*off_by(1e-12, 0, *given)), True)
    monkeypatch.setattr(prv.FromDistribution, "_handle", lambda self: handle)
    with pytest.raises(error):
        prv.compose(prv.FromDistribution(stats.norm()), 10).epsilon(1e-6)


@pytest.mark.slow
def test_stated_functions_are_enclosed():
    # Of the family with shape 2, which is not known here, the noise is Gaussian.
    stated = {"increasing": True, "log_concave": True}
    mechanism = prv.FromDistribution(stats.gennorm(2.0, scale=np.sqrt(2.0) * 3.0), **stated)
    for count in (1, 10, 1000):
        mu = mpmath.sqrt(count) / 3
        for relation in ("add", "remove"):
            lower, _, upper = prv.compose(mechanism, count, neighbors=relation).epsilon(1e-6)
            assert gaussian_delta(mu, lower) >= 1e-6 >= gaussian_delta(mu, upper)
            assert upper - lower <= 2e-3 * upper
    rough = prv.FromDistribution(stats.gennorm(2.0), error=1e-9, **stated)
    fine = prv.FromDistribution(stats.gennorm(2.0), **stated)
    wide, close = (prv.compose(one, 10).epsilon(1e-6) for one in (rough, fine))
    assert wide.lower <= close.upper
    assert wide.upper >= close.lower


# ---- What is refused -----------------------------------------------------------------------------


class Mixture(stats.rv_continuous):
    def _pdf(self, x):
        return 0.5 * (stats.norm.pdf(x - 3.0) + stats.norm.pdf(x + 3.0))

    def _cdf(self, x):
        return 0.5 * (stats.norm.cdf(x - 3.0) + stats.norm.cdf(x + 3.0))


class Impostor(stats.rv_continuous):
    def _pdf(self, x):
        return stats.t.pdf(x, 3)

    def _cdf(self, x):
        return stats.t.cdf(x, 3)


class Underflowing(stats.rv_continuous):
    """The normal law as a density and a distribution function: their logarithms underflow."""

    def _pdf(self, x):
        return np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)

    def _cdf(self, x):
        return pytest.importorskip("scipy.special").ndtr(x)


STATED = {"increasing": True, "log_concave": True}


@pytest.mark.parametrize(
    ("noise", "options", "error", "message"),
    [
        (stats.cauchy(), {}, ValueError, "log_concave must be stated"),
        (stats.cauchy(), STATED, ValueError, "is not concave"),
        (stats.t(3), STATED, ValueError, "is not concave"),
        (Mixture(name="norm")(), STATED, ValueError, "is not concave"),
        (Impostor(name="norm")(), {}, ValueError, "log_concave must be stated"),
        (Impostor(name="norm")(), STATED, ValueError, "is not concave"),
        (stats.gumbel_r(), {}, ValueError, "increasing must be stated"),
        (stats.gennorm(1.5), {"log_concave": True}, ValueError, "increasing must be stated"),
        (type(stats.norm)(a=0.0, name="norm")(), {}, ValueError, "log_concave must be stated"),
        (type(stats.laplace)(a=-1.0, b=1.0, name="laplace")(), STATED, ValueError, "on all reals"),
        (stats.uniform(), STATED, ValueError, "on all reals"),
        (stats.expon(), STATED, ValueError, "on all reals"),
        (stats.norm, {}, TypeError, "with its parameters"),
        (stats.poisson(3.0), {}, TypeError, "with its parameters"),
        (3, {}, TypeError, "with its parameters"),
        (stats.norm(), {"sensitivity": 0}, ValueError, "sensitivity must be"),
        (stats.norm(), {"sensitivity": 1e6}, ValueError, "at most 100000 times"),
        (stats.norm(), {"error": 1e-3}, ValueError, "error must be"),
        (stats.norm(), {"increasing": 1}, TypeError, "increasing must be True or False"),
        (stats.norm(scale=[1.0, 2.0]), {}, TypeError, "scale must be"),
        (stats.norm(scale=-1.0), {}, ValueError, "scale must be"),
    ],
)
def test_other_noise_is_refused(noise, options, error, message):
    with pytest.raises(error, match=message):
        prv.FromDistribution(noise, **options)


@pytest.mark.slow
def test_logarithms_of_what_underflows_are_refused():
    noise = prv.FromDistribution(Underflowing(name="x")(), **STATED)
    for ask in (lambda c: c.epsilon(1e-3), lambda c: c.delta(1.0), lambda c: c.epsilon(1e-12)):
        for neighbors in ("add", "remove"):
            with pytest.raises(ValueError, match="infinite or no number"):
                ask(prv.compose(noise, neighbors=neighbors))


@pytest.mark.slow
@pytest.mark.parametrize(
    "made_of",
    [
        lambda noise: prv.PoissonSubsampled(noise, 0.1),
        lambda noise: prv.PoissonSubsampled([noise, prv.Gaussian(1.0)], 0.1),
        lambda noise: prv.RandomAllocation(noise, 3),
        lambda noise: prv.BallsInBins(noise, bins=3, epochs=2),
    ],
)
def test_noise_that_is_not_symmetric_is_no_part_of_others(made_of):
    # Of a sample, 'add' is the reverse of 'remove'. Noise that is added has a pair of its own.
    noise = prv.FromDistribution(stats.gumbel_r(), 0.3, increasing=True)
    with pytest.raises(ValueError, match="noise that is not symmetric"):
        prv.compose(made_of(noise)).delta(0.05)
    assert prv.compose(made_of(prv.FromDistribution(stats.norm(), 0.3))).delta(0.05).upper < 0.2


def test_only_the_same_noise_is_equal():
    one, same = (prv.FromDistribution(stats.norm(0.0, 2.0)) for _ in range(2))
    named = prv.FromDistribution(stats.norm(scale=2.0))
    assert one == same == named == pickle.loads(pickle.dumps(one))
    assert len({one, same, named}) == 1
    assert prv.compose([one, same]).counts == (2,)
    others = [
        prv.FromDistribution(stats.norm(scale=2.5)),
        prv.FromDistribution(stats.laplace(scale=2.0)),
        prv.FromDistribution(stats.norm(scale=2.0), sensitivity=2.0),
        prv.FromDistribution(stats.norm(scale=2.0), increasing=True),
        prv.FromDistribution(stats.gennorm(2.0, scale=2.0), **STATED),
        prv.FromDistribution(stats.gennorm(2.0, scale=2.0), **STATED),  # another object
    ]
    assert len({one, *others}) == 7
    frozen = stats.gennorm(2.0)
    assert prv.FromDistribution(frozen, **STATED) == prv.FromDistribution(frozen, **STATED)
    assert len(prv.compose([one, *others]).counts) == 7


def test_no_file_holds_it():
    accountant = prv.Accountant()
    accountant.add(prv.FromDistribution(stats.norm()))
    with pytest.raises(TypeError, match="its distribution is made of functions"):
        accountant.to_json()
    with pytest.raises(ValueError, match="whose functions no file can hold"):
        mechanism_from_dict({"type": "FromDistribution"})


@pytest.mark.slow
def test_mirrored_noise_has_the_other_direction():
    right = prv.FromDistribution(stats.gumbel_r(scale=3.0), increasing=True)
    left = prv.FromDistribution(stats.gumbel_l(scale=3.0), increasing=False)
    opposite = prv.FromDistribution(stats.gumbel_r(scale=3.0), increasing=False)
    for relation, other in (("add", "remove"), ("remove", "add")):
        here = prv.compose(right, 5, neighbors=relation).epsilon(1e-6)
        assert here == prv.compose(left, 5, neighbors=relation).epsilon(1e-6)
        assert here == prv.compose(opposite, 5, neighbors=other).epsilon(1e-6)
    # Where the number is higher with the record, a high outcome has a ratio of e^(1/3) at most.
    removed = prv.compose(right, 5, neighbors="remove").epsilon(1e-6)
    assert removed.upper <= 5 / 3 < prv.compose(right, 5, neighbors="add").epsilon(1e-6).lower


@pytest.mark.slow
def test_what_is_not_known_of_it_is_refused():
    mechanism = prv.FromDistribution(stats.norm())
    with pytest.raises(ValueError, match="no dominating pair"):
        prv.compose(mechanism, neighbors="replace-one")
    sampled = prv.PoissonSubsampled(mechanism, 0.5)
    with pytest.raises(ValueError, match="no dominating pair"):
        prv.compose(sampled, neighbors="replace-one")
    with pytest.raises(ValueError, match="has no bounds of Renyi"):
        prv.compose(mechanism).renyi_divergence(2.0)
    with pytest.raises(ValueError, match="mean of the loss"):
        prv.compose(mechanism, discretization="mean-matching").epsilon(1e-5)


@pytest.mark.slow
def test_it_is_a_part_of_other_mechanisms():
    mechanism = prv.FromDistribution(stats.norm(scale=2.0))
    known = prv.Gaussian(2.0)
    for make in (
        lambda m: prv.PoissonSubsampled(prv.compose([m, prv.Laplace(3.0)]).as_mechanism(), 0.1),
        lambda m: prv.RandomAllocation(m, 20),
    ):
        found = prv.compose(make(mechanism), 3, eps_error=0.01).epsilon(1e-5)
        other = prv.compose(make(known), 3, eps_error=0.01).epsilon(1e-5)
        assert found.lower <= other.upper
        assert found.upper >= other.lower
        assert found.upper - found.lower <= 0.02
