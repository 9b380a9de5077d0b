"""The verifier computes what exact fractions, scipy and prvcore say, and shares no code with it."""

import ast
import importlib
import io
import itertools
import json
import math
import random
import subprocess
import sys
import tokenize

import pytest

import prvcore as prv
from prvcore.files.mechanisms import mechanism_from_dict
from tests.support.checkout import ROOT
from tests.witnesses import (
    BATCHES,
    OF_FIXED_SIZE,
    PURE,
    RESPONSE,
    claimed,
    of_table,
    on_sample,
    refusal_of,
    verifier,
)

SYMMETRIC = of_table([-1.0, 1.0], [0.2689414213699951, 0.7310585786300049], 0.0, "any")

INNER = [
    PURE,
    RESPONSE,
    SYMMETRIC,
    {**SYMMETRIC, "neighbors": "replace-one"},
    {**SYMMETRIC, "neighbors": "add-or-remove"},
    {**SYMMETRIC, "attained": False},
    BATCHES,
    {**BATCHES, "sampling_probability": 0.5, "maximum_batch_size": 4},
    {**OF_FIXED_SIZE, "mechanism": PURE},
    on_sample(PURE, 0.3),
    {"type": "ApproximateDP", "epsilon": 0.5, "delta": 0.01},
    {"type": "BoundedRange", "epsilon": 0.5},
    {"type": "Gaussian", "noise_multiplier": 1.5},
    {"type": "Laplace", "scale": 2.0, "sensitivity": 1.0},
    {"type": "DiscreteLaplace", "scale": 2.0, "sensitivity": 1},
    {"type": "DiscreteGaussian", "scale": 2.0, "sensitivity": 1},
    {"type": "NoisyCount", "deviation": 1.5, "centred": True},
    {"type": "NoisyCount", "deviation": 1.5, "centred": False},
    {
        "type": "PoissonSubsampledGaussian",
        "noise_multiplier": 1.5,
        "sampling_probability": 0.4,
    },
    {
        "type": "GroupPoissonSubsampledGaussian",
        "noise_multiplier": 1.5,
        "sampling_probability": 0.4,
        "group_size": 2,
    },
    {
        "type": "MixtureOfGaussians",
        "noise_multiplier": 1.5,
        "sensitivities": [0.0, 1.0, 2.0],
        "probabilities": [0.5, 0.25, 0.25],
    },
]


@pytest.mark.slow
def test_what_the_verifier_takes_prvcore_takes_for_the_same():
    """Within each other, all kinds have the same curve in both, or none in the verifier."""
    module = importlib.import_module(f"{verifier().__name__}.mechanisms")
    balls = importlib.import_module(f"{verifier().__name__}.balls")
    balls.set_precision()
    compared = 0
    outer = [
        lambda m: m,
        on_sample,
        lambda m: on_sample(on_sample(m)),
        lambda m: {**OF_FIXED_SIZE, "mechanism": m, "sampling_probability": 0.5},
        lambda m: {"type": "Composed", "mechanisms": [[m, 1], [PURE, 1]]},
        lambda m: on_sample({"type": "Composed", "mechanisms": [[m, 2]]}),
    ]
    for within, mechanism, direction in itertools.product(
        outer, INNER, ("add", "remove", "replace-one")
    ):
        whole = within(mechanism)
        try:
            module.check_mechanism(whole)
            pair = module.pair_of(whole, direction)
            found = pair.delta(balls.ball(0.3).exp())
        except verifier().Refused:
            continue
        if mechanism["type"] == "FromTable" and direction == "replace-one" and whole != mechanism:
            continue  # what prvcore has no pair of, as it needs one that is its own reverse
        curve = prv.compose(mechanism_from_dict(whole), neighbors=direction)
        bounds = curve.delta(0.3)
        low, high = (float(end.mid()) for end in (found.lower(), found.upper()))
        assert high >= bounds.lower * (1 - 1e-12), (whole, direction)
        assert not pair.attained or low <= bounds.upper * (1 + 1e-12), (whole, direction)
        assert not pair.attained or curve.attained, (whole, direction)
        compared += 1
    assert compared > 130


def test_a_claim_for_groups_says_so():
    group = {
        "type": "GroupPoissonSubsampledGaussian",
        "noise_multiplier": 1.0,
        "sampling_probability": 0.1,
        "group_size": 3,
    }
    for mechanism, words in ((group, "3 records are"), (PURE, "one record is")):
        witness = claimed(mechanism, "add", {"delta": 0.0}, 0.0, math.inf)
        assert refusal_of(witness) is None
        assert verifier().in_words(witness)[-2] == f"  if {words} added:"


def test_several_on_the_same_records_are_those_of_exact_fractions():
    """Two randomized responses with a mass at infinity each, against sums over all outcomes."""
    module = importlib.import_module(f"{verifier().__name__}.mechanisms")
    balls = importlib.import_module(f"{verifier().__name__}.balls")
    balls.set_precision()
    parts = [({"type": "ApproximateDP", "epsilon": 0.5, "delta": 0.25}, 2)]
    parts += [({"type": "PureDP", "epsilon": 1.0}, 1)]
    pair = module.pair_of({"type": "Composed", "mechanisms": parts}, "remove")

    def outcomes(epsilon, delta):
        high = balls.ball(epsilon).exp()
        most, least = (1 - delta) * high / (1 + high), (1 - delta) / (1 + high)
        return [(most, least), (least, most), (delta, 0), (0, delta)]

    one, other = outcomes(0.5, balls.ball(0.25)), outcomes(1.0, balls.ball(0.0))
    for epsilon in (-1.0, 0.0, 0.7, 1.5):
        t = balls.ball(epsilon).exp()
        exact = balls.ball(0)
        for each in itertools.product(one, one, other):
            q, p = math.prod(y[0] for y in each), math.prod(y[1] for y in each)
            exact += balls.ball(0).max(q - t * p)
        assert abs(pair.delta(t) - exact) < 1e-40
        assert exact > 0.25


def test_a_composed_curve_is_that_of_exact_fractions():
    """Two atoms, five times, against the binomial sum."""
    module = importlib.import_module(f"{verifier().__name__}.composition")
    witness = importlib.import_module(f"{verifier().__name__}.witness")
    balls = importlib.import_module(f"{verifier().__name__}.balls")
    from fractions import Fraction
    from math import comb

    balls.set_precision()
    masses, h, n = [Fraction(1, 3), Fraction(3, 5)], Fraction(1, 4), 5
    lattice = witness.Lattice([-1, 1], masses, Fraction(1, 15), Fraction(1, 100), h)
    for epsilon in (Fraction(-2), Fraction(0), Fraction(3, 10), Fraction(5, 4) + Fraction(1, 20)):
        exact = balls.ball(1 - sum(masses) ** n)
        for j in range(n + 1):
            loss = n * lattice.offset + h * (2 * j - n)
            if loss > epsilon:
                mass = comb(n, j) * masses[1] ** j * masses[0] ** (n - j)
                exact += balls.ball(mass) * (1 - balls.ball(epsilon - loss).exp())
        bounds = [
            module.Composition([lattice], [n], above, Fraction(1, 10), epsilon).delta(epsilon)
            for above in (False, True)
        ]
        assert bounds[0].lower() <= exact  # with equality where only the mass at infinity is left
        assert exact <= bounds[1].upper()
        assert bounds[1] - bounds[0] < 1e-14


def test_a_composition_far_below_epsilon_has_its_mass_at_infinity():
    module = importlib.import_module(f"{verifier().__name__}.composition")
    witness = importlib.import_module(f"{verifier().__name__}.witness")
    from fractions import Fraction

    masses = [Fraction(1, 3), Fraction(3, 5)]
    lattice = witness.Lattice([-9, -8], masses, Fraction(1, 15), Fraction(0), Fraction(1, 4))
    for above in (False, True):
        bound = module.Composition([lattice], [1], above, Fraction(1, 10), Fraction(0)).delta(
            Fraction(0)
        )
        assert abs(float(bound.mid()) - 1 / 15) < 1e-14


def test_lattices_above_have_a_mass_of_1():
    """What error bounds add is taken from the least losses; less than 1 is refused."""
    module = importlib.import_module(f"{verifier().__name__}.witness")
    stated = {
        "points": [0, 1, 2],
        "masses": [(2.0**-30).hex(), (0.25).hex(), (0.5).hex()],
        "mass_at_infinity": (0.25).hex(),
        "error_at_infinity": (0.0).hex(),
        "relative_error": (2.0**-20).hex(),
        "shift": (0.0).hex(),
        "offset": (0.0).hex(),
        "spacing": (1.0).hex(),
    }
    lattice = module.lattice(stated, above=True)
    assert lattice.masses[0] == 0
    assert lattice.masses[1] < 0.25 < 0.5 < lattice.masses[2]
    assert sum(lattice.masses) + lattice.infinite == 1
    stated["masses"][1] = (0.2).hex()
    with pytest.raises(verifier().Refused, match="together less than 1"):
        module.lattice(stated, above=True)


def test_a_binomial_of_many_trials_is_that_of_few_terms():
    """Sums that end early hold the whole sums, which scipy has by another way."""
    module = importlib.import_module(f"{verifier().__name__}.above")
    balls = importlib.import_module(f"{verifier().__name__}.balls")
    from scipy.stats import binom

    balls.set_precision()
    for trials, p, least in ((30, 0.25, 3), (5000, 0.01, 20), (5000, 0.01, 90), (3, 0.5, 3)):
        found = module.binomial_above(trials, balls.ball(p), least)
        assert found.rel_accuracy_bits() > 150
        exact = binom.sf(least - 1, trials, p)
        assert abs(float(found.mid()) - exact) < 1e-12 * exact
    found = module.binomial_above(1281167, balls.ball(1e-3), 1400)
    assert abs(float(found.mid()) / binom.sf(1399, 1281167, 1e-3) - 1) < 1e-9


def test_batches_that_are_hardly_ever_short_are_told_apart():
    """What is left of delta where batches are full is known to many digits."""
    module = importlib.import_module(f"{verifier().__name__}.mechanisms")
    balls = importlib.import_module(f"{verifier().__name__}.balls")
    balls.set_precision()
    batches = {
        "type": "TruncatedPoissonSubsampledGaussian",
        "noise_multiplier": 0.545,
        "sampling_probability": 0.4,
        "dataset_size": 952,
        "maximum_batch_size": 69,
    }
    for direction in ("add", "remove"):
        found = module.pair_of(batches, direction).delta(balls.ball(0.4).exp())
        assert found > 0
        assert found.rel_accuracy_bits() > 60


def test_division_of_polynomials_rounds_down():
    """As the verifier needs of python-flint, for coefficients that are not negative."""
    from flint import fmpz_poly

    draw = random.Random(1)
    for bits in (1, 60, 64, 200):
        numbers = [draw.getrandbits(2 * bits) for _ in range(100)] + [2**bits, 1]
        divided = (fmpz_poly(numbers) // 2**bits).coeffs()
        divided += [0] * (len(numbers) - len(divided))
        assert divided == [number >> bits for number in numbers]


@pytest.mark.slow
def test_the_verifier_runs_alone(tmp_path, witness):
    file = tmp_path / "witness.json"
    file.write_text(json.dumps(witness))
    run = [sys.executable, "-m", "verify"]
    done = subprocess.run([*run, str(file)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["proved", *verifier().in_words(witness)]
    file.write_text("[]")
    failed = subprocess.run([*run, str(file)], cwd=ROOT, capture_output=True, text=True)
    assert (failed.returncode, failed.stdout) == (1, "not proved: the file is no witness\n")


def lines_of_code(text):
    """Return the number of lines that have more than comments and docstrings."""
    found, last = set(), tokenize.NEWLINE
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in layout:
            continue
        if token.type != tokenize.NEWLINE and (token.type, last) != (
            tokenize.STRING,
            tokenize.NEWLINE,
        ):
            found.update(range(token.start[0], token.end[0] + 1))
        last = token.type
    return len(found)


@pytest.mark.slow
def test_the_verifier_shares_no_code():
    allowed = {"dataclasses", "flint", "fractions", "hashlib", "itertools", "json", "math", "re"}
    lines = 0
    for path in sorted((ROOT / "verify").glob("*.py")):
        text = path.read_text("utf-8")
        lines += lines_of_code(text)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                assert {name.name for name in node.names} <= allowed | {"sys"}
            if isinstance(node, ast.ImportFrom):
                assert node.level == 1 or node.module in allowed | {"pathlib"}
    assert 400 < lines < 1000
