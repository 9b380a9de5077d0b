"""The verifier proves witnesses of random answers, and refuses those that were made false."""

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
from scipy.stats import norm

import prvcore as prv
from prvcore import _cli as cli
from prvcore.files.mechanisms import mechanism_from_dict
from tests.support.checkout import ROOT
from tests.witnesses import falsified, random_witness, refusal_of, sealed, verifier

STEP = prv.PoissonSubsampledGaussian(noise_multiplier=1.1, sampling_probability=0.01)
CURVE = prv.compose([(STEP, 200), (prv.Laplace(5.0), 2)], eps_error=0.01)


@pytest.fixture(scope="module")
def witness():
    return json.loads(json.dumps(CURVE.witness(delta=1e-6)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, 100, 5))
def test_random_answers_are_proved(seed):
    answers = [random_witness(one, most_steps=300) for one in range(seed, seed + 5)]
    assert len(answers) - answers.count(None) >= 3
    assert [refusal_of(answer) for answer in answers if answer is not None] == [None] * (
        len(answers) - answers.count(None)
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1120, 20))
def test_what_goes_too_far_by_a_part_in_1e12_is_refused(seed):
    answers = (random_witness(one, most_steps=30) for one in range(seed, seed + 20))
    found = falsified(next(filter(None, answers)), random.Random(seed))
    assert len(found) >= 2
    assert [kind for kind, value in found.items() if refusal_of(value) is None] == []


@pytest.mark.slow
def test_the_claim_is_near_the_answer(witness):
    bounds = CURVE.epsilon(1e-6)
    lower, upper = (float.fromhex(witness["claim"][side]) for side in ("lower", "upper"))
    assert lower < bounds.upper
    assert bounds.lower < upper
    assert upper - lower <= 0.01
    assert refusal_of(witness) is None


@pytest.mark.slow
def test_lattices_of_both_relations_are_needed(witness):
    for direction in ("remove", "add"):
        one = {name: part for name, part in witness["lattices"].items() if name != direction}
        assert f"there are no lattices of the direction {direction}" in refusal_of(
            sealed({**witness, "lattices": one})
        )
        alone = sealed({**witness, "lattices": one, "neighbors": next(iter(one))})
        lower = "the composed lattices have delta" if direction == "remove" else "None"
        assert lower in str(refusal_of(alone))  # epsilon is that of the direction 'remove'


def changed(witness, *path, value):
    """Return a witness with another value at a path, and its checksum."""
    copy = json.loads(json.dumps(witness))
    part = copy
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    return sealed(copy)


LATTICE = ("lattices", "remove", "above", 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("steps", 0, "count"), 300, "the composed lattices have delta"),
        (("steps", 0, "count"), -1, "a count is not positive"),
        (("steps", 0, "count"), True, "a count is not positive"),
        (("steps", 0, "mechanism", "type"), "Magic", "the mechanism Magic is not covered"),
        (("steps",), [], "there is no mechanism"),
        (("steps", 1, "mechanism", "sampling_probability"), 1.01, "is out of its range"),
        (("steps", 1, "mechanism", "sampling_probability"), -0.01, "is out of its range"),
        (("steps", 1, "mechanism", "noise_multiplier"), math.nan, "is out of its range"),
        (("steps", 0, "mechanism", "scale"), -5.0, "is out of its range"),
        (("steps", 0, "mechanism"), {"type": "PureDP", "epsilon": -0.1}, "is out of its range"),
        (
            ("steps", 0, "mechanism"),
            {"type": "DiscreteLaplace", "scale": 5.0, "sensitivity": 0.5},
            "the sensitivity is no integer",
        ),
        (
            ("steps", 0, "mechanism"),
            {
                "type": "Composed",
                "mechanisms": [[{"type": "Gaussian", "noise_multiplier": 1.0}, -1]],
            },
            "a count is not positive",
        ),
        (
            ("steps", 0, "mechanism"),
            {
                "type": "GroupPoissonSubsampledGaussian",
                "noise_multiplier": 1.0,
                "sampling_probability": 0.1,
                "group_size": 2,
            },
            "groups of several sizes",
        ),
        (
            ("steps", 0, "mechanism"),
            {"type": "Gaussian", "noise_multiplier": 2.0, "sensitivity": 5.0},
            "Gaussian has not the fields of its type",
        ),
        (
            ("steps", 0, "mechanism"),
            {"type": "Composed", "mechanisms": [[{"type": "PureDP", "epsilon": 1, "delta": 0}, 1]]},
            "PureDP has not the fields of its type",
        ),
        (
            ("steps", 0, "mechanism"),
            {"type": "NoisyCount", "deviation": 2.0, "centred": "false"},
            "is neither true nor false",
        ),
        (
            ("steps", 0, "mechanism"),
            {
                "type": "MixtureOfGaussians",
                "noise_multiplier": 1.0,
                "sensitivities": [0.0, 1.0],
                "probabilities": [3.0, 3.0],
            },
            "probabilities have another sum than 1",
        ),
        ((*LATTICE, "points", 0), -(10**12), "a lattice has too many points"),
        (("steps", 0, "times"), 9, "a step has other names"),
        (("claim", "estimate"), "0x1p-2", "the claim has other names"),
        (("remark",), "", "the witness has other names"),
        (("claim", "upper"), "7.7", "the upper bound is no hexadecimal double"),
        (("claim", "upper"), "0x10p+0", "the upper bound is no hexadecimal double"),
        (("claim", "upper"), " 0x1.8p+0", "the upper bound is no hexadecimal double"),
        # which reads as another number
        (("claim", "upper"), "0x1.ffffffffffffffffp-1", "the upper bound is no hexadecimal double"),
        (("question",), {"delta": "0x1.0000000000000p-5000"}, "the delta asked is no hexadecimal"),
        (("steps", 0, "mechanism", "scale"), True, "is no number"),
        (("steps", 0, "mechanism", "scale"), [5.0], "is no number"),
        (("neighbors",), "strangers", "the neighbours 'strangers' are unknown"),
        (("question",), {"delta": "0x1.0000000000000p-21"}, "the composed lattices have delta"),
        (("question",), {"beta": "0x1p-21"}, "the question has not one delta or epsilon"),
        (("claim", "upper"), "nan", "the upper bound is no hexadecimal double"),
        (("claim", "upper"), "-0x1.0000000000000p+1", "the upper bound is negative"),
        (("claim", "lower"), "inf", "the lower bound is infinite"),
        (("format",), "prvcore witness 2", None),  # `read` looks at it
        ((*LATTICE, "relative_error"), "-0x1.0000000000000p-20", "a stated error is negative"),
        ((*LATTICE, "shift"), "-0x1.0000000000000p-30", "a stated error is negative"),
        ((*LATTICE, "shift"), "0x1.0000000000000p-10", "the composed lattices have delta"),
        ((*LATTICE, "spacing"), "0x0.0p+0", "a spacing is not positive"),
        ((*LATTICE, "spacing"), "0x1.0000000000000p-9", "the lattices have several spacings"),
        ((*LATTICE, "points"), [1, 1], "a lattice has not one mass for each point"),
        ((*LATTICE, "masses", 3), "-0x1.0000000000000p-3", "a mass is negative"),
        ((*LATTICE, "masses", 3), "inf", "a mass is no hexadecimal double"),
        ((*LATTICE, "masses", 3), 0.5, "a mass is no hexadecimal double"),
        ((*LATTICE, "masses", 3), "0x0.0p+0", "together less than 1"),
        (("lattices", "remove", "above"), [], "there is not one lattice for each step"),
        (("lattices", "remove"), None, "the witness is not as its format says"),
    ],
)
def test_what_is_false_or_malformed_is_refused(witness, path, value, reason):
    if path[:3] == ("steps", 0, "count") and value == 300:
        assert witness["steps"][0]["mechanism"]["type"] in ("Laplace", "PoissonSubsampledGaussian")
    refusal = refusal_of(changed(witness, *path, value=value))
    assert refusal is None if reason is None else reason in refusal


@pytest.mark.slow
def test_a_lower_bound_that_is_too_high_is_refused(witness):
    claim = {"lower": witness["claim"]["upper"], "upper": witness["claim"]["upper"]}
    refusal = refusal_of(sealed({**witness, "claim": claim}))
    assert "remove: the composed lattices" in refusal
    assert "add: the composed lattices" in refusal


@pytest.mark.slow
def test_lattices_out_of_all_numbers_are_refused():
    copy = json.loads(json.dumps(prv.compose(prv.Gaussian(2.0), 10).witness(delta=1e-5)))
    for sides in copy["lattices"].values():
        for stated in sides["below"]:
            stated["offset"] = "-0x1.0000000000000p+1020"
    assert "a rate is no number" in refusal_of(sealed(copy))


def test_a_name_that_stands_twice_is_refused(tmp_path, witness):
    text = json.dumps(witness).replace('"neighbors":', '"neighbors": "add", "neighbors":')
    path = tmp_path / "twice.json"
    path.write_text(text)
    with pytest.raises(verifier().Refused, match="a name stands twice"):
        verifier().read(path)


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


@pytest.mark.parametrize(
    ("mechanism", "neighbors", "question", "upper", "reason"),
    [
        # A record replaced may be in the sample alone, of which these say nothing.
        (on_sample(RESPONSE), "replace-one", {"delta": 0.0}, 1.0, "for replaced records"),
        (
            on_sample(of_table([-1.0, 1.0], [0.2689414213699951, 0.7310585786300049], 0.0, "any")),
            "replace-one",
            {"delta": 0.0},
            0.61,
            "there are no lattices",
        ),
        (
            on_sample(
                of_table([-1.0, 1.0], [0.2689414213699951, 0.7310585786300049], 0.0, "replace-one")
            ),
            "replace-one",
            {"delta": 0.0},
            1.0,
            "a table is not stated for remove",
        ),
        (
            on_sample({"type": "Composed", "mechanisms": [[RESPONSE, 1], [PURE, 2]]}),
            "replace-one",
            {"delta": 0.0},
            5.0,
            "for replaced records",
        ),
        (
            on_sample({**OF_FIXED_SIZE, "mechanism": PURE}),
            "replace-one",
            {"delta": 0.0},
            0.01,
            "samples of fixed size are of replaced records",
        ),
        # A sample of a batch that is cut: of which number of records?
        (on_sample(BATCHES), "replace-one", {"delta": 0.0}, math.inf, "within others"),
        (on_sample(BATCHES), "add", {"delta": 0.0}, math.inf, "within others"),
        (
            {**OF_FIXED_SIZE, "mechanism": BATCHES},
            "replace-one",
            {"delta": 0.0},
            math.inf,
            "within others",
        ),
        # With the record, losses of log 2 have a mass of 1e-200 / 2.
        (
            on_sample(
                {
                    "type": "Composed",
                    "mechanisms": [[{"type": "ApproximateDP", "epsilon": 1.0, "delta": 1e-200}, 1]],
                }
            ),
            "add",
            {"epsilon": 0.6},
            0.0,
            "there are no lattices",
        ),
        # Beyond the greatest loss, which is less than 0, the other order of the data sets has more.
        (
            {
                **OF_FIXED_SIZE,
                "mechanism": of_table(
                    [-1.0], [0.36787944117144233], 0.6321205588285577, "replace-one"
                ),
                "sampling_probability": 0.5,
            },
            "replace-one",
            {"epsilon": -0.1},
            0.32,
            "there are no lattices",
        ),
        # Claims that say nothing are of a mechanism and its relation nevertheless.
        (RESPONSE, "add", {"delta": 0.0}, math.inf, "for replaced records"),
        (
            of_table([0.0], [1.0], 0.0, "friends"),
            "add",
            {"delta": 0.0},
            math.inf,
            "a table is not stated for add",
        ),
    ],
)
def test_claims_without_lattices_are_of_what_is_covered(
    mechanism, neighbors, question, upper, reason
):
    assert reason in str(refusal_of(claimed(mechanism, neighbors, question, 0.0, upper)))


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


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 100_000, "the file is no JSON"),
        ("{}", "the format is not"),
        ("\x80", "the file is no JSON"),
    ],
)
def test_files_of_something_else_are_refused_in_words(tmp_path, text, reason):
    path = tmp_path / "witness.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(verifier().Refused, match=reason):
        verifier().read(path)


def test_mechanisms_within_mechanisms_without_end_are_refused():
    mechanism = PURE
    for _ in range(300):
        mechanism = on_sample(mechanism)
    witness = claimed(mechanism, "add", {"delta": 0.0}, 0.0, math.inf)
    for _ in range(3000):
        witness["steps"][0]["mechanism"] = on_sample(witness["steps"][0]["mechanism"])
    assert "the witness is not as its format says" in refusal_of(witness)


def test_a_witness_that_was_damaged_is_refused(witness):
    witness = {**witness, "program": "another"}
    assert refusal_of(witness) == "the witness was changed: its checksum is another"


@pytest.mark.slow
def test_another_mechanism_is_not_proved(witness):
    for j, step in enumerate(witness["steps"]):
        for name in {"noise_multiplier", "sampling_probability", "scale"} & set(step["mechanism"]):
            off = 1.001 if name == "sampling_probability" else 0.999
            value = off * step["mechanism"][name]
            less_private = changed(witness, "steps", j, "mechanism", name, value=value)
            assert "the lattice has delta" in refusal_of(less_private)


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


def test_batches_that_are_not_cut_may_be_too_rare_to_count():
    """Epsilon is then the greatest loss of those that are, whatever the lattices say."""
    mechanism = prv.TruncatedPoissonSubsampledGaussian(0.6, 0.672, 1300, 6)
    witness = prv.compose(mechanism, 3, neighbors="add").witness(delta=1e-20)
    full = 6 / 1300
    assert float.fromhex(witness["claim"]["upper"]) == pytest.approx(-3 * math.log1p(-full))
    assert refusal_of(json.loads(json.dumps(witness))) is None
    less = {"lower": (0.0).hex(), "upper": (-3 * math.log1p(-full) * (1 - 1e-9)).hex()}
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


def test_a_witness_has_one_point():
    for points in ({}, {"delta": 0.1, "epsilon": 0.1}):
        with pytest.raises(TypeError, match="exactly one of delta and epsilon"):
            CURVE.witness(**points)
    with pytest.raises(ValueError, match="delta must be in"):
        CURVE.witness(delta=1.5)
    with pytest.raises(ValueError, match="epsilon must be finite"):
        CURVE.witness(epsilon=math.inf)


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


def test_a_large_mass_at_infinity_is_proved_to_the_last_digits():
    """As 1 - (1 - mass)^6, of which errors of finite masses are no part."""
    steps = [(prv.ApproximateDP(0.127, 0.469), 6), (prv.Gaussian(2.0), 1)]
    for point in ({"epsilon": 0.5}, {"delta": 0.978}):
        witness = prv.compose(steps, neighbors="remove", eps_error=0.1).witness(**point)
        assert refusal_of(json.loads(json.dumps(witness))) is None


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
