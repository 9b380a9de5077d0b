"""What is false, malformed or not covered is refused by the verifier, in words."""

import json
import math
import random

import pytest

import prvcore as prv
from tests.witnesses import (
    BATCHES,
    OF_FIXED_SIZE,
    PURE,
    RESPONSE,
    claimed,
    falsified,
    of_table,
    on_sample,
    random_witness,
    refusal_of,
    sealed,
    verifier,
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1120, 20))
def test_what_goes_too_far_by_a_part_in_1e12_is_refused(seed):
    answers = (random_witness(one, most_steps=30) for one in range(seed, seed + 20))
    found = falsified(next(filter(None, answers)), random.Random(seed))
    assert len(found) >= 2
    assert [kind for kind, value in found.items() if refusal_of(value) is None] == []


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
