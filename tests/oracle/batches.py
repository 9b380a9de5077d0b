"""Truncated Poisson batches: what a choice between two mechanisms that is known loses."""

from flint import arb

from .balls import ONE, ZERO, TooSlowError, exact, total

MOST_RECORDS = 4000


def _binomial(n, p, least, most):
    """Return P(least <= K <= most) for K binomial."""
    k = range(max(least, 0), min(most, n) + 1)
    return total(arb.bin_uiui(n, i) * p**i * (1 - p) ** (n - i) for i in k)


def truncation(mechanism):
    """Return the probabilities of fewer than B others, of B or more, and then of being kept.

    With K, binomial, the number of the n - 1 other records in the sample, a record that is sampled
    with B or more others is one of the K + 1 of which B are kept. As C(n-1, k) / (k + 1) is
    C(n, k+1) / n, this has the probability B P(Bin(n, p) > B) / n.
    """
    p, most = exact(mechanism.sampling_probability), mechanism.maximum_batch_size
    n = mechanism.dataset_size
    if n - 1 < most or p == 0:
        return ONE, ZERO, ZERO
    if n > MOST_RECORDS:
        raise TooSlowError("terms of the binomial law")
    if p == 1:
        return ZERO, ONE, arb(most) / n
    never = _binomial(n - 1, p, 0, most - 1)
    cut = _binomial(n - 1, p, most, n)
    return never, cut, arb(most) / n * _binomial(n, p, most + 1, n) / cut


def kept_at_all(mechanism):
    """Return the probability with which a record is in the batch, whatever the others do."""
    never, cut, kept = truncation(mechanism)
    return never * exact(mechanism.sampling_probability) + cut * kept
