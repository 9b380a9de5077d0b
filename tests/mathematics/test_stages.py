"""Each stage against a truth from outside, and all of them together against `compose`."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import signal

import prvcore as prv
from prvcore import stages

SUBSAMPLED = prv.PoissonSubsampledGaussian(noise_multiplier=0.8, sampling_probability=1e-3)
LATTICES = {"dominating": stages.dominating, "dominated": stages.dominated}


# ---- Gaussian cells and lattices: closed forms, in mpmath ----------------------------------------


def normal_mass(low, high, mean, sd):
    """Return the mass of an interval, of the tail that is small."""
    a, b = ((mpmath.mpf(float(x)) - mean) / sd for x in (low, high))
    if a > 0:
        a, b = -b, -a
    return mpmath.ncdf(b) - mpmath.ncdf(a)


def gaussian_delta(epsilon, mu):
    e = mpmath.mpf(float(epsilon))
    return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)


def delta_of(lattice, epsilon):
    """Sum naively, in 50 digits, over the finite atoms at their exact places."""
    e, total = mpmath.mpf(float(epsilon)), mpmath.mpf(0)
    offset, spacing = mpmath.mpf(lattice.offset), mpmath.mpf(lattice.spacing)
    for index, mass in zip(lattice.index.tolist(), lattice.mass.tolist(), strict=True):
        loss = offset + spacing * index
        if loss > e:
            total += mpmath.mpf(mass) * (1 - mpmath.exp(e - loss))
    return total


@pytest.mark.slow
@pytest.mark.parametrize("noise_multiplier", [0.5, 1.0, 30.0])
def test_cells_of_a_gaussian_are_its_closed_form(noise_multiplier):
    mu = 1.0 / noise_multiplier
    knots = np.linspace(-12.0 * mu, 12.0 * mu, 97) + 0.5 * mu * mu
    cells = stages.cells(prv.Gaussian(noise_multiplier), knots)
    with mpmath.workdps(50):
        exact = 1 / mpmath.mpf(noise_multiplier)
        ends = [-math.inf, *knots.tolist(), math.inf]
        for i, (low, high) in enumerate(itertools.pairwise(ends)):
            q = normal_mass(low, high, exact**2 / 2, exact)
            p = normal_mass(low, high, -(exact**2) / 2, exact)
            anchor = knots[max(i - 1, 0)]
            assert abs(cells.mass[i] / q - 1) < 1e-12
            assert abs(cells.relative[i] / (p * mpmath.exp(mpmath.mpf(anchor))) - 1) < 1e-12
    assert cells.infinite_mass == cells.absolute_error == 0.0
    assert cells.knots.tolist() == knots.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("noise_multiplier", [0.6, 2.0])
@pytest.mark.parametrize("spacing", [0.25, 0.03])
def test_gaussian_curves_lie_between_those_of_both_lattices(noise_multiplier, spacing):
    mechanism, mu = prv.Gaussian(noise_multiplier), 1.0 / noise_multiplier
    reach = math.ceil((0.5 * mu * mu + 10.0 * mu) / spacing)
    mesh = stages.Mesh(np.arange(-reach, reach + 1), spacing)
    cells = stages.cells(mechanism, mesh.losses)
    above, below = stages.dominating(cells, mesh), stages.dominated(cells, mesh)
    with mpmath.workdps(50):
        exact = 1 / mpmath.mpf(noise_multiplier)
        for e in np.linspace(-2.0, 4.0, 31):
            delta = gaussian_delta(e, exact)
            slack = above.rounding
            upper = (1 + slack.relative) * delta_of(above, e - slack.shift) + above.infinite_mass
            lower = delta_of(below, e + below.rounding.shift) / (1 + below.rounding.relative)
            assert lower <= delta <= upper
            # a lattice point between two knots is the chord of delta over e^epsilon
            low = math.floor(e / spacing) * spacing
            high = low + spacing
            chord = (mpmath.exp(e) - mpmath.exp(low)) / (mpmath.exp(high) - mpmath.exp(low))
            ends = [gaussian_delta(x, exact) for x in (low, high)]
            assert abs(delta_of(above, e) - (ends[0] + chord * (ends[1] - ends[0]))) < 1e-13


@pytest.mark.slow
def test_a_finer_mesh_brings_both_lattices_closer():
    widths = []
    for spacing in (0.2, 0.1, 0.05):
        reach = round(8.0 / spacing)
        mesh = stages.Mesh(np.arange(-reach, reach + 1), spacing)
        cells = stages.cells(prv.Gaussian(1.0), mesh.losses)
        above, below = stages.dominating(cells, mesh), stages.dominated(cells, mesh)
        epsilons = np.linspace(0.013, 1.987, 200)
        deltas = [
            -(lattice.mass * np.expm1(np.minimum(epsilons[:, None] - lattice.loss, 0.0))).sum()
            for lattice in (above, below)
        ]
        widths.append(deltas[0] - deltas[1])
    assert 3.0 < widths[0] / widths[1] < 5.0
    assert 3.0 < widths[1] / widths[2] < 5.0


@pytest.mark.parametrize("spacing", [8e-5, 6e-5, 1.5e-5])
def test_a_heavy_atom_at_the_greatest_loss_is_merged_with_all_that_it_needs(spacing):
    # Between both atoms a point has a few millionths of the mass: hundreds of points balance the
    # part of the upper atom that lies above the last of them. Dropped, it is 1e-5 of all mass.
    step = prv.PoissonSubsampled(prv.Laplace(6.147), 0.0907)
    plan = stages.plan(step, 524, delta=0.06, tilt=2.1, mesh_size=spacing, eps_error=2e-4)
    cells = stages.cells(step, plan.knots[0], side="dominated")
    lattice = stages.dominated(cells, plan.meshes[0])
    assert 1 - 1e-12 <= math.fsum(lattice.mass) <= 1 + 1e-12
    # P's mass is that of the mechanism, too: all finite losses have it.
    special = math.fsum(lattice.mass * np.exp(-lattice.loss))
    assert 1 - 1e-12 <= special <= 1 + 1e-12


def test_knots_between_lattice_points_do_not_change_the_chords_nor_harm_the_dominated_lattice():
    index, parts = np.arange(-20, 21), 8
    coarse = stages.Mesh(index, 0.5)
    knots = 0.5 / parts * np.arange(-20 * parts, 20 * parts + 1)
    fine = stages.Mesh(index, 0.5, positions=parts * np.arange(41))
    gaussian = prv.Gaussian(1.0)
    pairs = [
        (stages.cells(gaussian, coarse.losses), coarse),
        (stages.cells(gaussian, knots), fine),
    ]
    above = [stages.dominating(*pair) for pair in pairs]
    below = [stages.dominated(*pair) for pair in pairs]
    np.testing.assert_allclose(above[0].mass, above[1].mass, rtol=1e-12, atol=1e-300)
    assert delta_of(below[1], 0.3) >= delta_of(below[0], 0.3) - 1e-14


def test_each_side_of_functions_of_ones_own_has_its_cells():
    def cdf_q(x):
        return 0.5 * np.vectorize(math.erfc)(-(x - 0.5) / math.sqrt(2.0))

    def cdf_p(x):
        return 0.5 * np.vectorize(math.erfc)(-(x + 0.5) / math.sqrt(2.0))

    mechanism = prv.FromCDFs(cdf_q, cdf_p)
    mesh = stages.Mesh(np.arange(-60, 61), 0.125)
    made = {side: stages.cells(mechanism, mesh.losses, side=side) for side in LATTICES}
    for side, other in (("dominating", "dominated"), ("dominated", "dominating")):
        assert made[side].absolute_error > 0.0
        lattice = LATTICES[side](made[side], mesh)
        assert lattice.absolute_error == made[side].absolute_error
        with pytest.raises(ValueError, match=f"cells must be made with side '{side}', got"):
            LATTICES[side](made[other], mesh)
    above = LATTICES["dominating"](made["dominating"], mesh)
    below = LATTICES["dominated"](made["dominated"], mesh)
    delta, error = float(gaussian_delta(1.0, mpmath.mpf(1))), above.absolute_error
    assert delta_of(below, 1.0) - error <= delta
    assert delta <= delta_of(above, 1.0) + above.infinite_mass + error


# ---- The paper's lattice -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("half_length", [10, 300])
def test_the_mean_matched_lattice_has_the_conditional_mean_and_the_masses_of_its_cells(half_length):
    spacing, noise_multiplier = 0.05, 1.3
    lattice = stages.mean_matched(prv.Gaussian(noise_multiplier), spacing, half_length)
    with mpmath.workdps(50):
        mu = 1 / mpmath.mpf(noise_multiplier)
        mean, end = mu**2 / 2, mpmath.mpf(spacing) * (half_length + mpmath.mpf(1) / 2)
        ends = [(x - mean) / mu for x in (-end, end)]
        inside = mpmath.ncdf(ends[1]) - mpmath.ncdf(ends[0])
        conditional = mean - mu * (mpmath.npdf(ends[1]) - mpmath.npdf(ends[0])) / inside
        masses = [mpmath.mpf(m) for m in lattice.mass.tolist()]
        places = [
            mpmath.mpf(lattice.offset) + mpmath.mpf(spacing) * i for i in lattice.index.tolist()
        ]
        own = sum(m * x for m, x in zip(masses, places, strict=True)) / sum(masses)
        assert abs(own - conditional) <= lattice.rounding.shift + 1e-16
        assert abs(sum(masses) - 1) < 1e-15
        for i, mass in zip(lattice.index.tolist(), masses, strict=True):
            exact = normal_mass((i - 0.5) * spacing, (i + 0.5) * spacing, mean, mu) / inside
            assert abs(mass / exact - 1) < 1e-12


# ---- Convolutions: fractions, and scipy ----------------------------------------------------------


def random_lattice(rng, atoms, spacing=0.125, offset=0.0, infinite_mass=0.0):
    index = np.sort(rng.choice(np.arange(-20, 40), atoms, replace=False))
    mass = rng.random(atoms)
    mass *= (1.0 - infinite_mass) / mass.sum() * (1.0 - 1e-15)
    return stages.Lattice(index, mass, spacing, offset=offset, infinite_mass=infinite_mass)


def exact_powers(lattice, count):
    """Return the exact law of the sum: Fractions by index."""
    law = {0: Fraction(1)}
    atoms = [(i, Fraction(m)) for i, m in zip(lattice.index.tolist(), lattice.mass, strict=True)]
    for _ in range(count):
        longer = {}
        for i, p in law.items():
            for j, q in atoms:
                longer[i + j] = longer.get(i + j, Fraction(0)) + p * q
        law = longer
    return law


@pytest.mark.slow
@pytest.mark.parametrize("transforms", [True, False])
@pytest.mark.parametrize("tilt", [0.0, 3.0])
@pytest.mark.parametrize("length", [64, 99, 512])
@pytest.mark.parametrize("seed", range(3))
def test_a_convolution_is_the_exact_one_wrapped_around(seed, length, tilt, transforms):
    rng = np.random.default_rng(seed)
    lattice, count = random_lattice(rng, 7, offset=0.01), 4
    window = stages.Window(lowest=-5.0, length=length)
    found = stages.convolve(lattice, count, window, tilt=tilt, transforms=transforms)
    assert (found.transforms > 0) == transforms
    with mpmath.workdps(40):
        weights = {}
        for i, p in exact_powers(lattice, count).items():
            loss = count * mpmath.mpf(lattice.offset) + mpmath.mpf(lattice.spacing) * i
            weights[i] = mpmath.mpf(p.numerator) / p.denominator * mpmath.exp(tilt * loss)
        moment = sum(weights.values())
        assert abs(mpmath.log(moment) - found.log_moment) < 1e-13
        first = round((found.loss[0] - count * lattice.offset) / lattice.spacing)
        assert abs(found.loss[0] - (count * lattice.offset + first * lattice.spacing)) < 1e-13
        assert found.loss[0] <= window.lowest < found.loss[0] + lattice.spacing
        wrapped = [mpmath.mpf(0)] * length
        for i, w in weights.items():
            wrapped[(i - first) % length] += w / moment
        error = max(abs(a - b) for a, b in zip(found.mass.tolist(), wrapped, strict=True))
    assert error < 1e-15
    np.testing.assert_allclose(np.diff(found.loss), lattice.spacing, rtol=1e-12)


def test_a_long_convolution_is_that_of_scipy():
    rng = np.random.default_rng(5)
    first, second = random_lattice(rng, 30), random_lattice(rng, 12)
    counts = [30, 17]
    expected = np.ones(1)
    for lattice, count in zip((first, second), counts, strict=True):
        dense = np.zeros(60)
        dense[lattice.index + 20] = lattice.mass
        for _ in range(count):
            expected = signal.convolve(expected, dense, method="direct")
    lowest = -20 * 47 * first.spacing
    window = stages.Window(lowest=lowest, length=4096)
    found = stages.convolve([first, second], counts, window)
    assert found.loss[0] == lowest
    np.testing.assert_allclose(found.mass[: expected.size], expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(found.mass[expected.size :], 0.0, rtol=0, atol=1e-15)


# ---- Delta, epsilon, and the error terms ---------------------------------------------------------


def exact_delta(law, lattice, count, epsilon):
    total, e = mpmath.mpf(0), mpmath.mpf(float(epsilon))
    for i, p in law.items():
        loss = count * mpmath.mpf(lattice.offset) + mpmath.mpf(lattice.spacing) * i
        if loss > e:
            total += mpmath.mpf(p.numerator) / p.denominator * (1 - mpmath.exp(e - loss))
    finite = 1 - (1 - Fraction(lattice.infinite_mass)) ** count
    return total + mpmath.mpf(finite.numerator) / finite.denominator


COMPOSED = {
    "transforms": lambda y, k, w, tilt: stages.convolve(y, k, w, tilt=tilt),
    "multiplied out": lambda y, k, w, tilt: stages.convolve(y, k, w, tilt=tilt, transforms=False),
    "spectrum": lambda y, k, w, tilt: stages.sum_spectrum(y, k, w, tilt=tilt),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", COMPOSED)
@pytest.mark.parametrize(("tilt", "length"), [(0.5, 128), (2.0, 256), (0.5, 512), (6.0, 512)])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_delta_hold_the_exact_sum_however_bad_the_window(seed, tilt, length, way):
    rng = np.random.default_rng(seed)
    lattice, count = random_lattice(rng, 8, infinite_mass=1e-6 * seed), 5
    window = stages.Window(
        lowest=-14.0,
        length=length,
        shift_down=0.5,
        shift_up=1.0,
        low_epsilon=-1.0,
        high_epsilon=12.0,
        tolerance=1e-12,
    )
    composed = COMPOSED[way](lattice, count, window, tilt)
    law = exact_powers(lattice, count)
    epsilons = np.linspace(-1.0, 12.0, 27)
    bounds = composed.delta(epsilons)
    with mpmath.workdps(40):
        exact = [exact_delta(law, lattice, count, e) for e in epsilons]
    for lower, estimate, upper, delta in zip(*bounds, exact, strict=True):
        assert lower <= delta <= upper
        assert lower <= estimate <= upper
    if length == 512 and tilt == 0.5:  # all of the support lies inside
        assert np.all(bounds.upper - bounds.lower <= 1e-8)
    for delta in (0.3, 0.01):
        lower, estimate, upper = composed.epsilon(delta)
        with mpmath.workdps(40):
            assert exact_delta(law, lattice, count, upper) <= delta or math.isinf(upper)
            assert lower == 0.0 or exact_delta(law, lattice, count, lower) >= delta
        assert lower <= estimate <= upper


def test_error_terms_say_what_is_wrong_with_a_window():
    mesh = stages.Mesh(np.arange(-2000, 20_000), 1e-3)
    lattice = stages.dominating(stages.cells(SUBSAMPLED, mesh.losses), mesh)

    def errors(length, shifts=4.0, precise=False, tilt=2.0):
        window = stages.Window(
            lowest=-3.0, length=length, shift_down=shifts, shift_up=shifts, precise=precise
        )
        return stages.convolve(lattice, 1000, window, tilt=tilt).errors

    wide, narrow, blind = errors(8192), errors(4096), errors(8192, shifts=0.0)
    assert wide.outside < 1e-3 * narrow.outside
    # without a shift of the tilt nothing is known of what lies outside
    assert blind.outside == pytest.approx(2.0**2 / 3.0**3)
    assert errors(8192, precise=True).transforms < 0.1 * wide.transforms
    assert wide.relative > 1000 * lattice.rounding.relative
    assert wide.shift > 1000 * lattice.rounding.shift
    assert wide.absolute == 0.0


# ---- All stages together -------------------------------------------------------------------------


def staged(steps, delta, budget, width, engine, direction):
    """Return the bounds of epsilon by the stages, as the last pass of a question takes them."""
    plan = stages.plan(
        steps,
        delta=delta,
        tilt=budget.tilt,
        mesh_size=budget.mesh_size,
        eps_error=width,
        direction=direction,
        engine=engine,
        exact_mesh=True,
    )
    found = {}
    for side, lattice_of in LATTICES.items():
        lattices = [
            lattice_of(stages.cells(mechanism, knots, direction=direction, side=side), mesh)
            for (mechanism, _), knots, mesh in zip(steps, plan.knots, plan.meshes, strict=True)
        ]
        counts = [count for _, count in steps]
        if engine == "spectrum":
            composed = stages.sum_spectrum(lattices, counts, plan.window, tilt=plan.tilt)
        else:
            transforms = budget.transforms > 0
            composed = stages.convolve(
                lattices, counts, plan.window, tilt=plan.tilt, transforms=transforms
            )
        found[side] = composed.epsilon(delta, guess=plan.epsilon)
    return found["dominated"].lower, found["dominating"].upper


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "delta", "width"),
    [
        ([(SUBSAMPLED, 1000)], 1e-7, 0.1),
        ([(SUBSAMPLED, 100_000)], 1e-7, 0.2),
        ([(prv.Laplace(1.0), 50)], 1e-5, 2.0),
        ([(prv.Gaussian(1.0), 1)], 1e-5, 0.2),
        ([(SUBSAMPLED, 100), (prv.Gaussian(20.0), 50)], 1e-6, 0.1),
        ([(prv.DiscreteLaplace(scale=2, sensitivity=1), 3)], 1e-6, 0.1),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::prvcore.AccuracyWarning")
@pytest.mark.parametrize("mesh_size", [1e-2, 1e-3])
@pytest.mark.parametrize("engine", ["convolution", "spectrum"])
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_the_stages_together_give_the_bounds_of_compose(
    steps, delta, width, mesh_size, engine, direction
):
    curve = prv.compose(
        steps, neighbors=direction, engine=engine, eps_error=width, mesh_size=mesh_size
    )
    steps = list(zip(curve.mechanisms, curve.counts, strict=True))
    bounds, budget = curve.epsilon(delta), curve.error_budget(delta=delta)
    lower, upper = staged(steps, delta, budget, width, engine, direction)
    # but for last bits: a curve begins its search for epsilon elsewhere
    assert (lower, upper) == pytest.approx((bounds.lower, bounds.upper), rel=1e-13, abs=0.0)


@pytest.mark.parametrize("steps", [1, 1000])
def test_the_stages_of_the_paper_give_what_mean_matching_estimates(steps):
    curve = prv.compose(
        SUBSAMPLED,
        steps,
        discretization="mean-matching",
        eps_error=0.1,
        delta_error=1e-10,
        neighbors="remove",
    )
    delta = 1e-5 if steps == 1 else 1e-7
    budget, bounds = curve.error_budget(delta=delta), curve.epsilon(delta)
    half = 2**14 if steps == 1 else budget.transform_length // 2
    lattice = stages.mean_matched(SUBSAMPLED, budget.mesh_size, half)
    window = stages.Window(lowest=(0.5 - half) * budget.mesh_size, length=2 * half + 1)
    composed = stages.convolve(lattice, steps, window)
    estimate = composed.epsilon(delta).estimate
    assert estimate == pytest.approx(bounds.estimate, rel=1e-6 if steps == 1 else 1e-12, abs=1e-12)
    epsilons = np.linspace(0.0, 2.0, 11)
    np.testing.assert_allclose(
        composed.delta(epsilons).estimate, curve.delta(epsilons).estimate, rtol=1e-9, atol=1e-14
    )
