"""The batches of `prvcore.sampling`: whether their laws are those that are accounted for."""

import itertools
import math
import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import prvcore as prv
from prvcore import sampling

SIGNIFICANCE = 1e-4  # seeds are fixed, so that a test that passes once always passes


def counted(outcomes, law):
    """Return the p-value of Pearson's test that counts of `outcomes` have the exact `law`."""
    assert sum(law.values()) == 1
    found = Counter(outcomes)
    assert set(found) <= {outcome for outcome, p in law.items() if p}
    kept = [outcome for outcome, p in law.items() if p]
    expected = [float(law[outcome]) * len(outcomes) for outcome in kept]
    assert min(expected) > 5.0
    return stats.chisquare([found[outcome] for outcome in kept], expected).pvalue


def subsets(size, number=None):
    numbers = range(size + 1) if number is None else [number]
    return [s for k in numbers for s in itertools.combinations(range(size), k)]


def poisson_law(size, p):
    return {s: p ** len(s) * (1 - p) ** (size - len(s)) for s in subsets(size)}


def truncated_law(size, p, most):
    law = dict.fromkeys(subsets(size), Fraction(0))
    for sample, mass in poisson_law(size, p).items():
        kept = list(itertools.combinations(sample, min(most, len(sample))))
        for subset in kept:
            law[subset] += mass / len(kept)
    return law


def all_batches(batches):
    return [tuple(batch.tolist()) for batch in batches]


@pytest.mark.slow
def test_poisson_batches_have_every_subset_as_often_as_they_should():
    batches = sampling.PoissonBatches(4, 0.25, 20_000, seed=1)
    assert counted(all_batches(batches), poisson_law(4, Fraction(1, 4))) > SIGNIFICANCE


@pytest.mark.slow
def test_truncated_batches_have_every_subset_as_often_as_they_should():
    batches = sampling.TruncatedPoissonBatches(4, 0.5, 2, 20_000, seed=2)
    assert counted(all_batches(batches), truncated_law(4, Fraction(1, 2), 2)) > SIGNIFICANCE


@pytest.mark.slow
def test_batches_of_fixed_size_have_every_subset_equally_often():
    batches = sampling.FixedSizeBatches(6, 3, 20_000, seed=3)
    law = dict.fromkeys(subsets(6, 3), Fraction(1, 20))
    assert counted(all_batches(batches), law) > SIGNIFICANCE


@pytest.mark.slow
def test_each_record_draws_its_batch_by_itself():
    batches = sampling.RandomAllocationBatches(3, 3, seed=4)
    law = {}
    for places in itertools.product(range(3), repeat=3):
        outcome = tuple(tuple(i for i in range(3) if places[i] == j) for j in range(3))
        law[outcome] = Fraction(1, 27)
    outcomes = [tuple(all_batches(batches)) for _ in range(10_000)]
    assert counted(outcomes, law) > SIGNIFICANCE


@pytest.mark.slow
def test_each_record_draws_some_of_the_batches_by_itself():
    batches = sampling.RandomAllocationBatches(2, 4, 2, seed=10)
    law = {}
    for first, second in itertools.product(itertools.combinations(range(4), 2), repeat=2):
        chosen = [first, second]
        outcome = tuple(tuple(i for i in range(2) if j in chosen[i]) for j in range(4))
        law[outcome] = law.get(outcome, 0) + Fraction(1, 36)
    outcomes = [tuple(all_batches(batches)) for _ in range(6000)]
    assert counted(outcomes, law) > SIGNIFICANCE
    assert batches.expected_batch_size == 1.0
    noise = prv.Gaussian(2.0)
    assert batches.accounted(noise, 3) == [(prv.RandomAllocation(noise, 4, 2), 3)]
    everywhere = sampling.RandomAllocationBatches(3, 4, 4)
    assert all_batches(everywhere) == [(0, 1, 2)] * 4


@pytest.mark.slow
def test_bins_are_drawn_once_and_each_is_equally_likely():
    law = dict.fromkeys(itertools.product(range(2), repeat=3), Fraction(1, 8))
    outcomes = []
    for seed in range(4000):
        batches = sampling.BallsInBinsBatches(3, 2, seed=seed)
        batches.set_epoch(seed % 3)
        first, second = all_batches(batches), all_batches(batches)
        assert first == second
        outcomes.append(tuple(0 if i in first[0] else 1 for i in range(3)))
    assert counted(outcomes, law) > SIGNIFICANCE


@pytest.mark.slow
def test_passes_are_independent():
    """A record that was in a batch of one pass is as often as any in that of the next."""
    batches = sampling.PoissonBatches(1, 0.5, 1, seed=5)
    pairs = [(all_batches(batches)[0], all_batches(batches)[0]) for _ in range(4000)]
    law = dict.fromkeys(itertools.product([(), (0,)], repeat=2), Fraction(1, 4))
    assert counted(pairs, law) > SIGNIFICANCE


@pytest.mark.slow
def test_sizes_of_large_batches_are_binomial():
    batches = sampling.PoissonBatches(3000, 0.01, 2000, seed=6)
    sizes = [len(batch) for batch in batches]
    edges = stats.binom.ppf(np.linspace(0.05, 0.95, 19), 3000, 0.01)
    expected = np.diff([0.0, *stats.binom.cdf(edges, 3000, 0.01), 1.0]) * len(sizes)
    places = np.searchsorted(edges, sizes)
    kept = expected > 0.0
    found = np.bincount(places, minlength=len(expected))
    assert stats.chisquare(found[kept], expected[kept]).pvalue > SIGNIFICANCE


@pytest.mark.slow
def test_the_systems_generator_draws_the_same_law():
    batches = sampling.PoissonBatches(3, 0.5, 8000)
    law = poisson_law(3, Fraction(1, 2))
    assert counted(all_batches(batches), law) > 1e-12  # which happens once in 1e12 runs


class Script:
    """Words that were written down."""

    def __init__(self, *words):
        self.words = list(words)

    def __call__(self, count):
        assert count <= len(self.words)
        taken, self.words = self.words[:count], self.words[count:]
        return np.array(taken, np.uint64)


@pytest.mark.parametrize("probability", [1e-3, 0.1, 0.5, 2.0**-70 * 3, 5e-324, 1 - 2**-53])
def test_a_probability_is_compared_to_its_last_digit(probability):
    """The words are those of p itself up to a last one, which is below, the same, or above."""
    digits, rest = [], Fraction(probability)
    while rest:
        first = math.floor(rest * 2**64)
        digits.append(first)
        rest = rest * 2**64 - first
    assert len(digits) <= 18
    assert sum(Fraction(word, 2 ** (64 * (i + 1))) for i, word in enumerate(digits)) == Fraction(
        probability
    )
    for last in range(len(digits)):
        for word, inside in ((digits[last] - 1, True), (digits[last] + 1, False)):
            if 0 <= word < 2**64:
                script = Script(*digits[:last], word)
                assert len(sampling.poisson_sample(1, probability, script)) == inside
                assert not script.words
    script = Script(*digits)  # all of p: the rest of U is at least 0
    assert len(sampling.poisson_sample(1, probability, script)) == 0


def test_probabilities_0_and_1_are_certain():
    words = Script(0, 2**64 - 1)
    assert sampling.poisson_sample(2, 0.0, words).tolist() == []
    words = Script(0, 2**64 - 1)
    assert sampling.poisson_sample(2, 1.0, words).tolist() == [0, 1]


def test_equal_keys_at_the_border_are_drawn_again():
    script = Script(5, 5, 9, *[1, 7, 3])
    assert sampling.random_subset(3, 1, script).tolist() == [0]
    script = Script(5, 5, 9)  # equal keys that are both taken decide nothing
    assert sampling.random_subset(3, 2, script).tolist() == [0, 1]


def test_words_that_would_favour_some_integers_are_drawn_again():
    script = Script(2**64 - 1, 4, 2)  # 2^64 = 1 mod 3, so that the greatest word is too much
    assert sampling.random_integers(2, 3, script).tolist() == [2, 1]
    assert sampling.random_integers(1, 4, Script(2**64 - 1)).tolist() == [3]


def test_large_data_sets_are_drawn_in_parts(monkeypatch):
    whole = all_batches(sampling.PoissonBatches(1000, 0.1, 5, seed=7))
    monkeypatch.setattr(sampling, "_CHUNK", 64)
    assert all_batches(sampling.PoissonBatches(1000, 0.1, 5, seed=7)) == whole


def every_kind(seed=None):
    return [
        sampling.PoissonBatches(50, 0.1, 8, seed=seed),
        sampling.TruncatedPoissonBatches(50, 0.1, 6, 8, seed=seed),
        sampling.FixedSizeBatches(50, 5, 8, seed=seed),
        sampling.RandomAllocationBatches(50, 8, seed=seed),
        sampling.BallsInBinsBatches(50, 8, seed=seed),
    ]


@pytest.mark.parametrize("batches", every_kind(), ids=lambda batches: type(batches).__name__)
def test_a_pass_has_as_many_batches_as_it_says_of_distinct_records(batches):
    for _ in range(3):
        found = list(batches)
        assert len(found) == len(batches) == 8
        for batch in found:
            assert batch.dtype == np.int64
            assert np.all(np.diff(batch) > 0)
            assert np.all((batch >= 0) & (batch < 50))
    if type(batches) in (sampling.RandomAllocationBatches, sampling.BallsInBinsBatches):
        assert sorted(np.concatenate(found)) == list(range(50))
    assert all_batches(pickle.loads(pickle.dumps(batches)))


@pytest.mark.parametrize("kind", range(5))
def test_a_seed_repeats_a_pass_and_each_pass_has_its_own(kind):
    one, other, third = every_kind(8)[kind], every_kind(8)[kind], every_kind(9)[kind]
    first, second = all_batches(one), all_batches(one)
    assert (first == second) == isinstance(one, sampling.BallsInBinsBatches)
    assert all_batches(third) != first
    other.set_epoch(1)
    assert all_batches(other) == second
    other.set_epoch(0)
    assert all_batches(other) == first
    assert other.epoch == 1


def test_without_a_seed_no_pass_is_that_of_another():
    one, other = every_kind()[0], every_kind()[0]
    assert all_batches(one) != all_batches(other)
    one.set_epoch(0)
    other.set_epoch(0)
    assert all_batches(one) != all_batches(other)


def test_empty_batches_are_steps():
    batches = sampling.PoissonBatches(3, 0.01, 50, seed=1)
    found = all_batches(batches)
    assert found.count(()) > 40
    assert len(found) == 50
    assert all_batches(sampling.RandomAllocationBatches(2, 9, seed=1)).count(()) >= 7


def test_what_is_accounted_is_the_mechanism_of_the_batches():
    poisson, truncated, fixed, allocated, bins = every_kind()
    noise = prv.Gaussian(2.0)
    assert poisson.accounted(noise, 3) == [(prv.PoissonSubsampledGaussian(2.0, 0.1), 24)]
    both = [noise, prv.NoisyCount(1.0, centred=True)]
    assert poisson.accounted(both) == [(prv.PoissonSubsampled(both, 0.1), 8)]
    cut = prv.TruncatedPoissonSubsampledGaussian(2.0, 0.1, 50, 6)
    assert truncated.accounted(noise, 2) == [(cut, 16)]
    assert fixed.accounted(noise) == [(prv.SubsampledWithoutReplacement(noise, 0.1), 8)]
    assert allocated.accounted(noise, 4) == [(prv.RandomAllocation(noise, 8), 4)]
    assert bins.accounted(noise, 4) == [(prv.BallsInBins(noise, 8, 4), 1)]
    assert [b.expected_batch_size for b in every_kind()] == [5.0, 5.0, 5.0, 6.25, 6.25]
    with pytest.raises(TypeError, match="mechanism must be Gaussian on truncated batches"):
        truncated.accounted(prv.Laplace(1.0))


@pytest.mark.parametrize(("part", "whole"), [(1, 3), (2, 3), (7, 49), (1, 49), (5, 5), (3, 10**9)])
def test_the_share_of_a_batch_is_not_rounded_down(part, whole):
    (step, count), *_ = sampling.FixedSizeBatches(whole, part, 4).accounted(prv.Gaussian(1.0))
    assert Fraction(step.sampling_probability) >= Fraction(part, whole)
    assert step.sampling_probability <= math.nextafter(part / whole, 1.0)
    assert count == 4


@pytest.mark.parametrize(
    ("mechanism", "kind"),
    [
        (prv.PoissonSubsampledGaussian(1.0, 0.1), sampling.PoissonBatches),
        (prv.PoissonSubsampled(prv.Laplace(1.0), 0.1), sampling.PoissonBatches),
        (prv.GroupPoissonSubsampledGaussian(1.0, 0.1, 3), sampling.PoissonBatches),
        (prv.TruncatedPoissonSubsampledGaussian(1.0, 0.1, 50, 6), sampling.TruncatedPoissonBatches),
        (prv.SubsampledWithoutReplacement(prv.Laplace(1.0), 0.1), sampling.FixedSizeBatches),
        (prv.GroupSubsampledWithoutReplacementGaussian(1.0, 50, 5, 3), sampling.FixedSizeBatches),
        (prv.RandomAllocation(prv.Laplace(1.0), 8), sampling.RandomAllocationBatches),
        (prv.RandomAllocation(prv.Laplace(1.0), 8, 3), sampling.RandomAllocationBatches),
        (prv.BallsInBins(prv.Laplace(1.0), 8, 3), sampling.BallsInBinsBatches),
    ],
)
def test_mechanisms_have_their_batches(mechanism, kind):
    batches = sampling.batches_of(mechanism, 50, seed=3)
    assert type(batches) is kind
    assert (batches.dataset_size, batches.seed) == (50, 3)
    if not repr(mechanism).startswith("Group"):
        epochs = getattr(mechanism, "epochs", 1)
        base = getattr(mechanism, "mechanism", prv.Gaussian(1.0))
        assert batches.accounted(base, epochs) == [(mechanism, 1)]
    assert "seed=3" in repr(batches)
    assert "seed" not in repr(sampling.batches_of(mechanism, 50))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sampling.PoissonBatches(0, 0.1, 1), ValueError, "dataset_size must be"),
        (lambda: sampling.PoissonBatches(5, 1.1, 1), ValueError, "sampling_probability must be"),
        (lambda: sampling.PoissonBatches(5, 0.1, 0), ValueError, "steps must be"),
        (lambda: sampling.PoissonBatches(5, 0.1, 1, seed=-1), ValueError, "seed must be"),
        (lambda: sampling.FixedSizeBatches(5, 6, 1), ValueError, "batch_size must be"),
        (lambda: sampling.RandomAllocationBatches(5, 0), ValueError, "batches must be"),
        (lambda: sampling.BallsInBinsBatches(5, 0), ValueError, "bins must be"),
        (lambda: sampling.BallsInBinsBatches(5, 2).set_epoch(-1), ValueError, "epoch must be"),
        (
            lambda: sampling.batches_of(prv.Gaussian(1.0), 5),
            TypeError,
            "mechanism must be a sampled one",
        ),
        (
            lambda: sampling.batches_of(prv.RandomAllocation(prv.Gaussian(1.0), 3), 5, 2),
            ValueError,
            "steps must be 1 for an allocation",
        ),
        (
            lambda: sampling.batches_of(
                prv.TruncatedPoissonSubsampledGaussian(1.0, 0.1, 50, 6), 51
            ),
            ValueError,
            "dataset_size must be that of the mechanism, 50",
        ),
        (
            lambda: sampling.batches_of(
                prv.SubsampledWithoutReplacement(prv.Gaussian(1.0), 0.15), 10
            ),
            ValueError,
            "sampling_probability must be a number of records over dataset_size",
        ),
    ],
)
def test_bad_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
