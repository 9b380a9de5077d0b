"""Groups of records: what one more sample makes of them, and that they mix with nothing else."""

import itertools
import json
import math
from collections import Counter
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

import prvcore as prv
from prvcore.files.schedule import schedule_from_dict

Group = prv.GroupPoissonSubsampledGaussian
MIXED = "must all be for neighbours that differ by one record, or by groups of one size"


def binomial(probability, size):
    """Return the probabilities of so many sampled members of a group, as fractions."""
    p = Fraction(probability)
    return [math.comb(size, k) * p**k * (1 - p) ** (size - k) for k in range(size + 1)]


def exact_delta(noise, weights, epsilon, direction):
    """Return delta of one step to 40 digits: the root of an increasing loss, and normal tails."""
    with mp.workdps(60):
        s = mp.mpf(noise)
        weights = [mp.mpf(w.numerator) / w.denominator for w in map(Fraction, weights)]

        def ratio(z):  # of the mixture to N(0, s^2)
            return mp.fsum(
                w * mp.exp((k * z - k * k / mp.mpf(2)) / s**2) for k, w in enumerate(weights)
            )

        def tail(z, k):  # above z, of a component
            return mp.erfc((z - k) / (s * mp.sqrt(2))) / 2

        def above(z):
            return mp.fsum(w * tail(z, k) for k, w in enumerate(weights))

        a = mp.exp(mp.mpf(epsilon))
        wanted = a if direction == "remove" else 1 / a
        if wanted <= weights[0]:  # smaller ratios do not occur
            return 1 - a if direction == "remove" else mp.mpf(0)
        low, high = mp.mpf(-1), mp.mpf(1)
        while ratio(low) > wanted:
            low *= 2
        while ratio(high) < wanted:
            high *= 2
        for _ in range(220):
            middle = (low + high) / 2
            low, high = (middle, high) if ratio(middle) < wanted else (low, middle)
        if direction == "remove":
            return above(low) - a * tail(low, 0)
        return (1 - tail(low, 0)) - a * (1 - above(low))


SAMPLED_AGAIN = [
    (0.1, 1.0, 2, [0.5], 0.0),
    (0.1, 1.0, 2, [0.5], 1.0),
    (0.5, 0.9, 4, [0.3], 0.3),
    (0.3, 1.0, 3, [0.1], 3.0),
    (1.0, 0.7, 5, [0.6, 0.3], 0.5),
    (2.0, 0.1, 40, [0.1], 0.1),
    (0.8, 1e-3, 2, [1e-2], 0.2),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")  # next to delta(0) epsilon is steep
@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(("noise", "inner", "size", "outer", "epsilon"), SAMPLED_AGAIN)
def test_each_member_of_a_group_enters_a_sample_by_itself(
    noise, inner, size, outer, epsilon, direction
):
    mechanism, product = Group(noise, inner, size), Fraction(inner)
    for probability in outer:
        mechanism = prv.PoissonSubsampled(mechanism, probability)
        product *= Fraction(probability)
    truth = exact_delta(noise, binomial(product, size), epsilon, direction)
    lower, _, upper = prv.delta_from_eps(mechanism, epsilon, neighbors=direction)
    assert mp.mpf(float(lower)) <= truth <= mp.mpf(float(upper))
    assert upper <= 1.01 * truth + 1e-300
    if truth == 0:
        return
    found = prv.eps_from_delta(mechanism, float(truth), neighbors=direction)
    assert found.lower <= epsilon * (1 + 1e-12) + 1e-12
    assert found.upper >= epsilon * (1 - 1e-12) - 1e-12


@pytest.mark.parametrize(
    ("noise", "inner", "size", "outer", "epsilon", "direction", "truth"),
    [
        (0.1, 1.0, 2, 0.5, 1.0, "add", 0.320429),
        (0.5, 0.9, 4, 0.3, 0.3, "remove", 0.514063),
        (0.5, 0.9, 4, 0.3, 0.3, "add", 0.428617),
    ],
)
def test_the_values_of_an_independent_reader(noise, inner, size, outer, epsilon, direction, truth):
    mechanism = prv.PoissonSubsampled(Group(noise, inner, size), outer)
    bounds = prv.delta_from_eps(mechanism, epsilon, neighbors=direction)
    assert bounds.lower <= truth + 5e-7
    assert bounds.upper >= truth - 5e-7


Fixed = prv.GroupSubsampledWithoutReplacementGaussian


def law_of_sums(records, size):
    """Enumerate all samples of this size: each sum with its probability."""
    sums = Counter(sum(sample) for sample in itertools.combinations(records, size))
    return {value: Fraction(count, sums.total()) for value, count in sums.items()}


FIXED = [(1.0, 8, 3, 2, 0.5), (3.0, 9, 4, 3, 0.2), (0.7, 10, 1, 4, 2.0), (5.0, 12, 6, 5, 0.1)]


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(("noise", "records", "drawn", "group", "epsilon"), FIXED)
def test_samples_of_fixed_size_are_those_of_an_enumeration(
    noise, records, drawn, group, epsilon, direction
):
    law = law_of_sums([1] * group + [-1] * (records - group), drawn)
    assert set(law_of_sums([-1] * (records - group), drawn)) == {-drawn}
    weights = [law.get(2 * k - drawn, 0) for k in range(group + 1)]
    assert sum(weights) == 1
    truth = exact_delta(noise / 2, weights, epsilon, direction)  # centres 2 k
    step = Fixed(noise, records, drawn, group)
    lower, _, upper = prv.delta_from_eps(step, epsilon, neighbors=direction, eps_error=1e-4)
    assert mp.mpf(float(lower)) <= truth <= mp.mpf(float(upper))
    assert upper <= truth * 1.01


@pytest.mark.parametrize(
    "group",
    [
        lambda: prv.GroupSubsampledWithoutReplacementGaussian(2.0, 5000, 900, 4095),
        lambda: prv.GroupPoissonSubsampledGaussian(1.0, 0.5, 2000),
        lambda: prv.GroupPoissonSubsampledGaussian(0.0, 0.5, 901),
    ],
)
def test_groups_that_nearly_every_sample_has_are_refused(group):
    # A sample without a member, whose probability decides the greatest loss of 'add', is no double.
    with pytest.raises(ValueError, match="at least the probability 2\\^-900"):
        prv.compose(group())


@pytest.mark.slow
def test_the_greatest_loss_of_large_groups():
    step = prv.GroupPoissonSubsampledGaussian(1.0, 0.5, 890)
    curve = prv.compose(step, neighbors="add")
    assert curve.epsilon(1e-5).upper <= math.nextafter(890 * math.log(2.0) + 1e-9, math.inf)
    assert curve.delta(890.0 * math.log(2.0) + 1e-9).upper <= 1e-290


@pytest.mark.slow
@pytest.mark.parametrize(
    ("probability", "size"), [(1e-7, 40), (1e-7, 50), (1e-7, 60), (1e-5, 200), (0.3, 5)]
)
def test_members_that_are_hardly_ever_together_count_in_renyi_divergences(probability, size):
    # Of order 2 that is log sum w(j) w(k) e^(j k), j and k being members in two samples.
    step = prv.GroupPoissonSubsampledGaussian(1.0, probability, size)
    bounds = prv.compose(step, neighbors="remove").renyi_divergence(2.0)
    with mp.workprec(200):
        p = mp.mpf(probability)
        weights = [mp.binomial(size, k) * p**k * (1 - p) ** (size - k) for k in range(size + 1)]
        pairs = itertools.product(enumerate(weights), repeat=2)
        exact = mp.log(mp.fsum(v * w * mp.exp(j * k) for (j, v), (k, w) in pairs))
        assert bounds.lower <= exact <= bounds.upper


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_no_records_lose_more_on_samples_of_fixed_size(seed):
    rng = np.random.default_rng(seed)
    records, group = int(rng.integers(6, 10)), int(rng.integers(2, 4))
    drawn = int(rng.integers(1, records - group + 1))
    values = [int(v) for v in rng.choice([-4, -2, 0, 2, 4], records)]  # in quarters
    noise, z = rng.uniform(0.5, 3.0), np.linspace(-40.0, 40.0, 200_001)

    def density(law):
        return sum(
            float(w) * np.exp(-0.5 * ((z - v / 4) / noise) ** 2) / noise / math.sqrt(2 * math.pi)
            for v, w in law.items()
        )

    with_group, without = (density(law_of_sums(part, drawn)) for part in (values, values[group:]))
    for epsilon in (0.0, 0.3, 1.0):
        for direction, p, q in (("remove", without, with_group), ("add", with_group, without)):
            delta = np.maximum(q - math.exp(epsilon) * p, 0.0).sum() * (z[1] - z[0])
            step = Fixed(noise, records, drawn, group)
            assert delta <= prv.delta_from_eps(step, epsilon, neighbors=direction).upper + 1e-9


@pytest.mark.parametrize(
    ("records", "drawn", "group"), [(50, 7, 3), (4000, 60, 2000), (2**32, 1, 2)]
)
def test_a_group_on_samples_of_fixed_size_is_seen_without_noise(records, drawn, group):
    unseen = Fraction(math.comb(records - drawn, group), math.comb(records, group))
    lower, _, upper = prv.delta_from_eps(Fixed(0.0, records, drawn, group), 20, neighbors="remove")
    assert Fraction(lower) <= 1 - unseen <= Fraction(upper)
    assert upper <= (1 - unseen) * (1 + Fraction(1, 10**9))


def test_a_scaled_group_on_samples_of_fixed_size_keeps_its_sizes():
    found = prv.calibrate(Fixed(1.0, 1000, 20, 3), 100, epsilon=2.0, delta=1e-6)
    step = Fixed(found.value, 1000, 20, 3)
    again = prv.eps_from_delta(step, 1e-6, 100)
    assert again.lower <= 2.0
    assert again.estimate == pytest.approx(2.0, rel=1e-2)
    assert found.bounds.lower <= again.upper
    assert again.lower <= found.bounds.upper


def test_groups_on_samples_of_fixed_size_refuse_in_words():
    step = Fixed(1.0, 100, 10, 3)
    with pytest.raises(ValueError, match="batch_size must be at most"):
        Fixed(1.0, 12, 10, 3)
    with pytest.raises(ValueError, match="group_size must be"):
        Fixed(1.0, 100, 10, 1)
    for whole in (prv.PoissonSubsampled(step, 0.5), prv.RandomAllocation(step, 4)):
        with pytest.raises(ValueError, match="cannot be parts of other mechanisms"):
            prv.compose(whole)
    with pytest.raises(ValueError, match=MIXED):
        prv.compose([step, Group(1.0, 0.1, 4)])
    prv.compose([step, Group(1.0, 0.1, 3)])
    with pytest.raises(ValueError, match="no dominating pair"):
        prv.compose(step, neighbors="replace-one")


def test_a_group_of_one_is_a_record():
    one = Group(1.3, 0.02, 1)
    record = prv.PoissonSubsampledGaussian(1.3, 0.02)
    for neighbors in ("add", "remove", "add-or-remove", "replace-one"):
        assert prv.eps_from_delta(one, 1e-6, 50, neighbors=neighbors) == prv.eps_from_delta(
            record, 1e-6, 50, neighbors=neighbors
        )
    together = prv.compose([(one, 5), (record, 5), prv.Laplace(20.0)])
    apart = prv.compose([(record, 10), prv.Laplace(20.0)])
    assert together.epsilon(1e-5).lower <= apart.epsilon(1e-5).upper
    assert apart.epsilon(1e-5).lower <= together.epsilon(1e-5).upper


@pytest.mark.parametrize("probability", [0.0, 1e-20, 0.3, 1.0])
def test_a_group_without_noise_is_seen_where_one_of_it_is_sampled(probability):
    seen = 1 - (1 - Fraction(probability)) ** 3
    lower, _, upper = prv.delta_from_eps(Group(0.0, probability, 3), 20.0, neighbors="remove")
    assert Fraction(lower) <= seen <= Fraction(upper)
    assert upper <= seen * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize(("apart", "same"), [(1e-20, 1.0), (1.0, 1e-20), (0.25, 0.75)])
def test_a_mixture_without_noise_keeps_its_rare_part(apart, same):
    mechanism = prv.MixtureOfGaussians(0.0, [0.0, 1.0], [same, apart])
    total = Fraction(apart) + Fraction(same)
    lower, _, upper = prv.delta_from_eps(mechanism, 1.0, neighbors="remove")
    assert Fraction(lower) <= Fraction(apart) / total <= Fraction(upper)
    # P lies where Q is with probability `same`: there the ratio of P to Q is its inverse
    share = Fraction(same) / total
    lower, _, upper = prv.delta_from_eps(mechanism, 1.0, neighbors="add")
    truth = max(1 - mp.e * mp.mpf(share.numerator) / share.denominator, mp.mpf(0))
    assert mp.mpf(float(lower)) <= truth <= mp.mpf(float(upper))


def nested(*probabilities):
    mechanism = prv.Laplace(0.01)
    for probability in probabilities:
        mechanism = prv.PoissonSubsampled(mechanism, probability)
    return mechanism


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")  # losses of 1e-9 and delta(0)
@pytest.mark.parametrize(
    "probabilities",
    [
        (0.1, 0.3),
        (1 - 2.0**-53, 1 - 3 * 2.0**-53),
        (0.9, 0.9, 0.9),
        (1e-5, 1e-4),
        (0.7, 1.0 - 1e-15),
    ],
)
def test_products_of_probabilities_are_exact_within_the_bounds(probabilities):
    """The greatest loss of 'add', -log(1 - p (1 - e^(-1 / scale))), tells 1 - p from 0."""
    with mp.workdps(60):
        p = mp.fprod(mp.mpf(probability) for probability in probabilities)
        scale = mp.mpf(0.01)
        greatest = -mp.log(1 - p * (1 - mp.exp(-1 / scale)))
        bounds = prv.eps_from_delta(nested(*probabilities), 0.0, neighbors="add")
        assert mp.mpf(float(bounds.lower)) <= greatest <= mp.mpf(float(bounds.upper))
        # delta(0) is p times the total variation of Laplace noise
        exact = p * (1 - mp.exp(-1 / (2 * scale)))
        for neighbors in ("add", "remove"):
            lower, _, upper = prv.delta_from_eps(nested(*probabilities), 0.0, neighbors=neighbors)
            assert mp.mpf(float(lower)) <= exact <= mp.mpf(float(upper))


@pytest.mark.parametrize(
    "base", [prv.PureDP(1.0), prv.Laplace(1.0), prv.Gaussian(1.0), Group(1.0, 0.5, 2)]
)
def test_products_that_underflow_are_refused(base):
    twice = prv.PoissonSubsampled(prv.PoissonSubsampled(base, 1e-200), 1e-200)
    with pytest.raises(ValueError, match="sampling_probability must be 0 or in"):
        prv.compose(twice)
    with pytest.raises(ValueError, match="sampling_probability must be 0 or in"):
        prv.compose(prv.PoissonSubsampled(base, 5e-324))
    never = prv.PoissonSubsampled(prv.PoissonSubsampled(base, 1e-200), 0.0)
    assert prv.delta_from_eps(never, 0.0) == (0.0, 0.0, 0.0)


RECORDS = [
    prv.Gaussian(2.0),
    prv.Laplace(2.0),
    prv.PureDP(0.1),
    prv.FromTable([0.0], [1.0]),
    prv.PoissonSubsampledGaussian(2.0, 0.1),
    prv.MixtureOfGaussians(2.0, [0.0, 1.0], [0.5, 0.5]),
    Group(2.0, 0.1, 1),
]
GROUPS = [Group(2.0, 0.1, 4), Group(2.0, 1.0, 4), Group(2.0, 0.0, 4), Group(0.0, 0.1, 4)]
GROUPS += [prv.PoissonSubsampled(group, 0.5) for group in GROUPS]


@pytest.mark.parametrize("group", GROUPS, ids=repr)
def test_groups_compose_with_groups_of_their_size_alone(group):
    for other in (*RECORDS, Group(2.0, 0.1, 3)):
        for mixed in ([group, other], [other, group]):
            with pytest.raises(ValueError, match=MIXED):
                prv.compose(mixed)
        prv.compose([group, (other, 0)])  # what does not run has no neighbours
    for other in GROUPS:
        prv.compose([group, other])


def test_whatever_composes_refuses_records_beside_groups():
    group, record = Group(2.0, 0.1, 4), prv.PoissonSubsampledGaussian(2.0, 0.1)
    with pytest.raises(ValueError, match=MIXED):
        prv.eps_from_delta([group, record], 1e-5)
    with pytest.raises(ValueError, match=MIXED):
        prv.compose(group) + prv.compose(record)
    for first, second in ((group, record), (record, group)):
        accountant = prv.Accountant()
        accountant.add(first, 3)
        with pytest.raises(ValueError, match=MIXED):
            accountant.add(second)
        assert accountant.history == ((first, 3),)
        accountant.add(second, 0)
        with pytest.raises(ValueError, match=MIXED):
            prv.calibrate(
                second, epsilon=1.0, delta=1e-5, parameter="steps", after=accountant.history
            )
        with pytest.raises(ValueError, match=MIXED):
            prv.PrivacyFilter(accountant, 1.0, 1e-5).add(second)
        with pytest.raises(ValueError, match=MIXED):
            prv.calibrate([first, second], epsilon=1.0, delta=1e-5)
    accountant = prv.Accountant()
    accountant.add(group)
    with pytest.raises(ValueError, match=MIXED):
        accountant.step(noise_multiplier=1.0)
    with pytest.raises(ValueError, match=MIXED):
        accountant.copy().add(record)
    saved = json.loads(accountant.to_json())
    other = prv.Accountant()
    other.add(record)
    saved["history"] += json.loads(other.to_json())["history"]
    with pytest.raises(ValueError, match=MIXED):
        prv.Accountant.from_json(json.dumps(saved))


def test_schedules_nest_groups_and_refuse_mixtures():
    group = {"type": "GroupPoissonSubsampledGaussian", "noise_multiplier": 0.5}
    group |= {"sampling_probability": 0.9, "group_size": 4}
    nested = {"type": "PoissonSubsampled", "mechanism": group, "sampling_probability": 0.3}
    steps = schedule_from_dict({"steps": [nested]})
    bounds = prv.delta_from_eps(steps, 0.3)
    assert bounds.lower <= 0.514063 + 5e-7
    assert bounds.upper >= 0.514063 - 5e-7
    record = {"type": "Gaussian", "noise_multiplier": 1.0}
    with pytest.raises(ValueError, match=MIXED):
        prv.compose(schedule_from_dict({"steps": [nested, record]}))


@pytest.mark.parametrize("probability", [0.0, 0.5, 1.0])
def test_samples_of_fixed_size_have_no_groups(probability):
    for group in GROUPS:
        with pytest.raises(ValueError, match="no dominating pair"):
            prv.compose(
                prv.SubsampledWithoutReplacement(group, probability), neighbors="replace-one"
            )


@pytest.mark.parametrize("parameter", ["noise_multiplier", "sampling_probability"])
def test_groups_are_calibrated(parameter):
    found = prv.calibrate(Group(1.0, 0.01, 4), 100, epsilon=2.0, delta=1e-5, parameter=parameter)
    assert found.bounds.upper <= 2.0 < found.next_bounds.lower
    assert found.curve.epsilon(1e-5).upper <= 2.0
    again = prv.PoissonSubsampled(Group(1.0, 0.02, 4), 0.5)
    if parameter == "noise_multiplier":
        noise = prv.calibrate(again, 100, epsilon=2.0, delta=1e-5)
        assert math.isclose(noise.value, found.value, rel_tol=3e-4)
    else:
        with pytest.raises(ValueError, match="sampled more than once"):
            prv.calibrate(again, 100, epsilon=2.0, delta=1e-5, parameter=parameter)


@pytest.mark.slow
def test_a_search_for_a_probability_ends_where_doubles_do():
    step = prv.PoissonSubsampledGaussian(1e-3, 1e-290)
    with pytest.raises(prv.TargetError):
        prv.calibrate(step, epsilon=0.0, delta=1e-309, parameter="sampling_probability")


def test_a_renyi_divergence_of_a_group_sampled_again_is_in_its_bounds():
    with mp.workdps(50):
        p = mp.mpf(0.3) * mp.mpf(0.7)
        weights = [mp.binomial(3, k) * p**k * (1 - p) ** (3 - k) for k in range(4)]
        moment = mp.fsum(
            u * v * mp.exp(i * j / mp.mpf(2.5) ** 2)
            for i, u in enumerate(weights)
            for j, v in enumerate(weights)
        )
        curve = prv.compose(prv.PoissonSubsampled(Group(2.5, 0.3, 3), 0.7), neighbors="remove")
        bounds = curve.renyi_divergence(2.0)
        assert mp.mpf(float(bounds.lower)) <= mp.log(moment) <= mp.mpf(float(bounds.upper))
        assert bounds.upper <= bounds.lower * (1 + 1e-4)


def test_trade_off_rounds_outwards():
    """1 - power, with powers exact: of nothing at all it is the false positive rate itself."""
    rates = np.array([1e-20, 2.0**-54, 2.0**-53, 3 * 2.0**-55, 0.1, 1 / 3, 0.75, 1 - 2.0**-53])
    found = prv.compose([]).trade_off(rates)
    for rate, lower, upper in zip(rates, found.lower, found.upper, strict=True):
        assert Fraction(lower) <= 1 - Fraction(rate) <= Fraction(upper)
    assert prv.compose([]).trade_off(0.25) == (0.75, 0.75, 0.75)
    assert isinstance(prv.compose([]).trade_off(1e-20).lower, float)
    with mp.workdps(60):  # power of a Gaussian: Phi(mu + Phi^-1(rate))
        z = mp.sqrt(2) * mp.erfinv(2 * mp.mpf(1e-20) - 1)
        power = mp.ncdf(mp.mpf(1) / 10 + z)
        lower, _, upper = prv.compose(prv.Gaussian(10)).trade_off(1e-20)
        assert mp.mpf(lower) <= 1 - power <= mp.mpf(upper)
