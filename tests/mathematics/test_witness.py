"""The verifier proves witnesses of random answers, and of each kind that has them."""

import json
import math
import random

import pytest
from scipy.stats import norm

import prvcore as prv
from prvcore import _cli as cli
from tests.witnesses import CURVE, STEP, falsified, random_witness, refusal_of, sealed, verifier


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, 100, 5))
def test_random_answers_are_proved(seed):
    answers = [random_witness(one, most_steps=300) for one in range(seed, seed + 5)]
    assert len(answers) - answers.count(None) >= 3
    assert [refusal_of(answer) for answer in answers if answer is not None] == [None] * (
        len(answers) - answers.count(None)
    )


@pytest.mark.slow
def test_the_claim_is_near_the_answer(witness):
    bounds = CURVE.epsilon(1e-6)
    lower, upper = (float.fromhex(witness["claim"][side]) for side in ("lower", "upper"))
    assert lower < bounds.upper
    assert bounds.lower < upper
    assert upper - lower <= 0.01
    assert refusal_of(witness) is None


@pytest.mark.parametrize(
    ("mechanism", "options", "message"),
    [
        (prv.RandomAllocation(prv.Gaussian(1.0), 10), {}, "given of RandomAllocation"),
        (prv.FromCDFs(norm(loc=0.5).cdf, norm(loc=-0.5).cdf), {}, "be given: .* is a function"),
        (
            prv.PoissonSubsampled([prv.PureDP(1.0), prv.Gaussian(1.0)], 0.1),
            {},
            "normal noise and discrete mechanisms on the same records",
        ),
        (
            prv.PoissonSubsampled([prv.Laplace(1.0), prv.Gaussian(1.0)], 0.1),
            {},
            "given of Laplace among mechanisms on the same records",
        ),
        (
            prv.PoissonSubsampled(prv.GroupPoissonSubsampledGaussian(1.0, 0.1, 2), 0.1),
            {},
            "given of GroupPoissonSubsampledGaussian on a sample",
        ),
        (prv.PoissonSubsampledGaussian(0.0, 0.1), {}, "of PoissonSubsampledGaussian without noise"),
        (prv.DiscreteGaussian(2e4), {}, "of DiscreteGaussian of so large a scale"),
        (prv.DiscreteLaplace(1e7, 2**20), {}, "of DiscreteLaplace of so large a sensitivity"),
        (
            prv.TruncatedPoissonSubsampledGaussian(1.0, 1.0, 100, 10),
            {},
            "that takes no record or all of them",
        ),
        (STEP, {"discretization": "mean-matching"}, "must be 'bracketing'"),
        (prv.ApproximateDP(1.0, 0.1), {}, "would be empty, since the bounds inf and inf follow"),
    ],
)
def test_what_is_not_covered_is_refused_in_words(mechanism, options, message):
    with pytest.raises(ValueError, match=message):
        prv.compose(mechanism, **options).witness(delta=1e-6)


TABLE = prv.FromTable([-1.0, 0.5, 1.0], [0.1, 0.05, 0.85], neighbors="any")

FIXED_SIZE = prv.SubsampledWithoutReplacement(prv.Laplace(2.0), 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "neighbors"),
    [
        (prv.BoundedRange(0.3), "add-or-remove"),
        (prv.PoissonSubsampled(prv.BoundedRange(0.3), 0.05), "add-or-remove"),
        (prv.PoissonSubsampled(prv.PureDP(0.3), 0.05), "replace-one"),
        (prv.PoissonSubsampled(TABLE, 0.05), "add-or-remove"),
        (prv.FromTable([-1.0, 1.0], [0.2, 0.8], attained=False), "add-or-remove"),
        (FIXED_SIZE, "replace-one"),
        (prv.TruncatedPoissonSubsampledGaussian(1.0, 0.05, 200, 15), "add-or-remove"),
        (prv.TruncatedPoissonSubsampledGaussian(1.0, 0.05, 200, 15), "replace-one"),
    ],
)
def test_pairs_that_no_data_sets_have_are_proved_from_above(mechanism, neighbors):
    witness = prv.compose(mechanism, 3, neighbors=neighbors).witness(delta=1e-6)
    assert float.fromhex(witness["claim"]["lower"]) == 0.0
    assert all(list(sides) == ["above"] for sides in witness["lattices"].values())
    assert refusal_of(json.loads(json.dumps(witness))) is None
    claim = {"lower": (1e-9).hex(), "upper": witness["claim"]["upper"]}
    below = {name: {**y, "below": y["above"]} for name, y in witness["lattices"].items()}
    refusal = refusal_of(sealed({**witness, "claim": claim, "lattices": below}))
    assert "bounds from above alone" in refusal or "the mass at infinity is more" in refusal


@pytest.mark.parametrize(("delta", "greatest"), [(1e-6, 6 / 1300), (1e-20, 0.672)])
def test_batches_that_are_not_cut_may_be_too_rare_to_count(delta, greatest):
    """Epsilon is then the greatest loss of those that are, where lattices are close enough to show
    it, or else that of all."""
    mechanism = prv.TruncatedPoissonSubsampledGaussian(0.6, 0.672, 1300, 6)
    witness = prv.compose(mechanism, 3, neighbors="add").witness(delta=delta)
    assert float.fromhex(witness["claim"]["upper"]) <= -3 * math.log1p(-greatest) * (1 + 1e-9)
    assert refusal_of(json.loads(json.dumps(witness))) is None
    less = {"lower": (0.0).hex(), "upper": (-3 * math.log1p(-6 / 1300) * (1 - 1e-2)).hex()}
    assert refusal_of(sealed({**witness, "claim": less})) is not None


def test_samples_of_no_record_lose_nothing():
    """The other step alone has a loss, and the mean of nothing is no bound."""
    for base in (prv.Laplace(1.0), prv.BoundedRange(0.3), prv.PureDP(0.3)):
        steps = [prv.PoissonSubsampled(base, 0.0), prv.Gaussian(2.0)]
        witness = prv.compose(steps, eps_error=0.1).witness(delta=1e-6)
        assert refusal_of(json.loads(json.dumps(witness))) is None


LISTS = [prv.PureDP(0.1), (prv.ApproximateDP(0.2, 1e-9), 3), prv.DiscreteLaplace(3.0, 2)]

RESPONSES = [prv.RandomizedResponse(0.3, 5), (prv.RandomizedResponse(0.2, 2), 30)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "neighbors", "point"),
    [
        (TABLE, "add-or-remove", {"delta": 1e-6}),
        (TABLE, "replace-one", {"epsilon": 0.3}),
        (prv.FromTable([-1.0, 0.5], [0.15, 0.84], 0.01), "add", {"epsilon": 0.3}),
        # a list of which the lattices below lack the lowest losses
        (prv.Composed(LISTS[:2]), "add-or-remove", {"delta": 1e-6}),
        (prv.Composed(RESPONSES), "replace-one", {"delta": 1e-6}),
        (prv.PoissonSubsampled(LISTS, 0.1), "add-or-remove", {"delta": 1e-6}),
        (prv.PoissonSubsampled(LISTS, 0.1), "add-or-remove", {"epsilon": 0.3}),
    ],
)
def test_tables_and_lists_are_proved_from_both_sides(mechanism, neighbors, point):
    curve = prv.compose(mechanism, 3, neighbors=neighbors, eps_error=0.01)
    witness = json.loads(json.dumps(curve.witness(**point)))
    lower, upper = (float.fromhex(witness["claim"][side]) for side in ("lower", "upper"))
    assert 0.0 < lower <= upper
    assert upper - lower < 0.02
    assert refusal_of(witness) is None
    for kind, value in falsified(witness, random.Random(1)).items():
        assert refusal_of(value) is not None, kind


def test_a_witness_has_one_point():
    for points in ({}, {"delta": 0.1, "epsilon": 0.1}):
        with pytest.raises(TypeError, match="exactly one of delta and epsilon"):
            CURVE.witness(**points)
    with pytest.raises(ValueError, match="delta must be in"):
        CURVE.witness(delta=1.5)
    with pytest.raises(ValueError, match="epsilon must be finite"):
        CURVE.witness(epsilon=math.inf)


def test_a_large_mass_at_infinity_is_proved_to_the_last_digits():
    """As 1 - (1 - mass)^6, of which errors of finite masses are no part."""
    steps = [(prv.ApproximateDP(0.127, 0.469), 6), (prv.Gaussian(2.0), 1)]
    for point in ({"epsilon": 0.5}, {"delta": 0.978}):
        witness = prv.compose(steps, neighbors="remove", eps_error=0.1).witness(**point)
        assert refusal_of(json.loads(json.dumps(witness))) is None


@pytest.mark.slow
def test_the_command_proves_what_another_has_printed(capsys, tmp_path, witness):
    verifier()
    setting = [
        "--noise-multiplier",
        "1.1",
        "--sampling-probability",
        "0.01",
        "--steps",
        "30",
        "--eps-error",
        "0.01",
    ]
    assert cli.main(["witness", *setting, "--delta", "1e-6"]) == 0
    file = tmp_path / "witness.json"
    file.write_text(capsys.readouterr().out)
    assert cli.main(["verify", str(file)]) == 0
    upper = float.fromhex(json.loads(file.read_text())["claim"]["upper"])
    proved, mechanism, neighbors, bounds = capsys.readouterr().out.splitlines()
    assert proved == "proved"
    assert mechanism == (
        "  PoissonSubsampledGaussian(noise_multiplier=1.1, sampling_probability=0.01), 30 times"
    )
    assert neighbors == "  if one record is added or removed:"
    assert bounds.startswith("  at delta = 1e-06, ")
    assert bounds.endswith(f" <= epsilon <= {upper!r}")
    file.write_text(json.dumps({**witness, "format": "another"}))
    assert cli.main(["verify", str(file)]) == 4
    assert capsys.readouterr().out == "not proved: the format is not 'prvcore witness 1'\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_witness_is_read_as_any_system_saves_it(tmp_path, witness, encoding):
    path = tmp_path / "witness.json"
    path.write_text(json.dumps(witness), encoding)
    assert verifier().read(path) == witness
