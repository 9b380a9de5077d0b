"""Batches of indices whose law is the one that a sampled mechanism accounts for.

Each sampler yields, at each step, an array of the indices of the records in the batch. A PyTorch
`DataLoader` takes it as its `batch_sampler`. What holds for all of them:

* **An empty batch is a step.** It is yielded, it gets its noise, and it counts. Skipping it, or
  drawing again until a batch has records, is another mechanism.
* **Divide by the expected size.** `expected_batch_size` is fixed before the run. The size of the
  batch that was drawn depends on who is in the data, and must not be released or divided by.
* **The law is exact.** Decisions are made with random bits and integers alone: a record enters a
  Poisson batch with probability exactly `sampling_probability`, as the float says it.
* **Batches are secret.** By default the bits come from the operating system's cryptographic
  generator. With a `seed` they come from numpy's PCG64, which is no cryptographic generator, and
  all who know the seed can repeat the batches: for tests, and for runs whose seed is drawn at
  random and kept secret.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from prvcore import _arguments
from prvcore._names import hinting
from prvcore._quotients import quotient_rounded_up
from prvcore._steps import Mechanisms
from prvcore.mechanisms.allocated import BallsInBins, RandomAllocation
from prvcore.mechanisms.base import Mechanism
from prvcore.mechanisms.composed import on_same_records
from prvcore.mechanisms.noise import Gaussian
from prvcore.mechanisms.subsampled import (
    GroupPoissonSubsampledGaussian,
    GroupSubsampledWithoutReplacementGaussian,
    PoissonSubsampled,
    PoissonSubsampledGaussian,
    SubsampledWithoutReplacement,
    TruncatedPoissonSubsampledGaussian,
)

__all__ = [
    "BallsInBinsBatches",
    "Batches",
    "FixedSizeBatches",
    "PoissonBatches",
    "RandomAllocationBatches",
    "TruncatedPoissonBatches",
    "batches_of",
]

_size = partial(_arguments.integer, least=1, greatest=2**40)
_number = partial(_arguments.integer, least=1, greatest=2**32)

_CHUNK = 2**20  # words drawn at once, which bounds the memory of large data sets

_Words = Callable[[int], NDArray[np.uint64]]


class Batches(ABC):
    """The batches of one pass over the data after another: what all samplers have in common.

    Iterating yields the batches of the next pass (epoch), ``len()`` of them. Each pass draws anew,
    but for `BallsInBinsBatches`.

    Attributes
    ----------
    dataset_size : int
        Number of records.
    seed : int or None
        None if the operating system's cryptographic generator draws the batches.
    epoch : int
        Number of the pass that the next iteration is.

    """

    def __init__(self, dataset_size: int, seed: int | None) -> None:
        self.dataset_size = _size(dataset_size, "dataset_size")
        self.seed = seed if seed is None else _arguments.integer(seed, "seed", 0, 2**128 - 1)
        self.epoch = 0

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        words = self._words(self.epoch)
        self.epoch += 1
        return self._draw(words)

    def set_epoch(self, epoch: int) -> None:
        """Say which pass the next iteration is: with a `seed`, each has batches of its own.

        Parameters
        ----------
        epoch : int
            In [0, 2^32]. A run that resumes sets the number of passes that it has finished. With a
            seed, setting a number again repeats its batches, which no accounting covers but the
            repetition of a pass that was never released.

        Raises
        ------
        TypeError, ValueError
            `epoch` is of another kind, or out of its range.

        """
        self.epoch = _arguments.integer(epoch, "epoch", 0, 2**32)

    @property
    @abstractmethod
    def expected_batch_size(self) -> float:
        """What a sum over a batch is to be divided by for a mean; it does not depend on a batch."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def accounted(self, mechanism: Mechanisms, epochs: int = 1) -> list[tuple[Mechanism, int]]:
        """Return what so many passes are, for `prvcore.compose`.

        Parameters
        ----------
        mechanism : Mechanism or iterable
            What runs on each batch: a mechanism, or several on the same batch.
        epochs : int, default 1
            Number of passes, in [1, 2^32].

        Returns
        -------
        list of (Mechanism, int)
            The mechanisms and how often each runs.

        Raises
        ------
        TypeError, ValueError
            An argument is of another kind or out of its range.

        """

    @abstractmethod
    def _draw(self, words: _Words) -> Iterator[NDArray[np.int64]]: ...

    def _words(self, epoch: int) -> _Words:
        """Return a function that draws so many random words of 64 bits."""
        if self.seed is None:
            return _words_of_the_system
        sequence = np.random.SeedSequence(self.seed, spawn_key=(epoch,))
        generator = np.random.Generator(np.random.PCG64(sequence))
        return lambda count: generator.integers(0, 2**64 - 1, count, np.uint64, endpoint=True)

    def __repr__(self) -> str:
        # "seed" only if there is one
        fields = {k: v for k, v in vars(self).items() if k != "epoch" and v is not None}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in fields.items())})"


class PoissonBatches(Batches):
    """Poisson samples: each record is in each batch with one probability, by itself.

    Parameters
    ----------
    dataset_size : int
        Number of records, in [1, 2^40].
    sampling_probability : float
        Probability in [0, 1] with which each record enters a batch, independently of all others.
    steps : int
        Number of batches of a pass, in [1, 2^32].
    seed : int, optional
        In [0, 2^128). Left out, the operating system's cryptographic generator is used.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range.

    Examples
    --------
    >>> import prvcore as prv
    >>> from prvcore.sampling import PoissonBatches
    >>> batches = PoissonBatches(60_000, sampling_probability=256 / 60_000, steps=235)
    >>> for batch in batches:  # the sum of the clipped gradients of data[batch], noise, and
    ...     divisor = batches.expected_batch_size  # 256, though the batch has another size
    >>> run = prv.compose(batches.accounted(prv.Gaussian(1.1), epochs=15))
    >>> f"{run.epsilon(1e-5):.3f}"
    '[1.134, 1.136]'

    """

    @hinting
    def __init__(
        self,
        dataset_size: int,
        sampling_probability: float,
        steps: int,
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(dataset_size, seed)
        self.sampling_probability = _arguments.probability(
            sampling_probability, "sampling_probability"
        )
        self.steps = _number(steps, "steps")

    def __len__(self) -> int:
        return self.steps

    @property
    def expected_batch_size(self) -> float:
        """Return `dataset_size` times `sampling_probability`."""
        return self.dataset_size * self.sampling_probability

    def accounted(self, mechanism: Mechanisms, epochs: int = 1) -> list[tuple[Mechanism, int]]:
        """Return `prvcore.PoissonSubsampled`; parameters as `Batches.accounted` has them."""
        count = self.steps * _number(epochs, "epochs")
        base = on_same_records(mechanism, "mechanism")
        if isinstance(base, Gaussian):
            noise = base.noise_multiplier
            return [(PoissonSubsampledGaussian(noise, self.sampling_probability), count)]
        return [(PoissonSubsampled(base, self.sampling_probability), count)]

    def _draw(self, words: _Words) -> Iterator[NDArray[np.int64]]:
        for _ in range(self.steps):
            yield poisson_sample(self.dataset_size, self.sampling_probability, words)


class TruncatedPoissonBatches(PoissonBatches):
    """Poisson samples, of which those that are too large are cut to a size at random.

    Of a larger sample, a subset of `maximum_batch_size` records is kept, each with the same
    probability.

    Parameters
    ----------
    dataset_size, sampling_probability, steps, seed
        As `PoissonBatches` takes them. The number of records enters epsilon here, and must be the
        exact one: see `prvcore.TruncatedPoissonSubsampledGaussian`.
    maximum_batch_size : int
        Most records of a batch, in [1, 2^32].

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range.

    """

    @hinting
    def __init__(
        self,
        dataset_size: int,
        sampling_probability: float,
        maximum_batch_size: int,
        steps: int,
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(dataset_size, sampling_probability, steps, seed=seed)
        self.maximum_batch_size = _number(maximum_batch_size, "maximum_batch_size")

    def accounted(self, mechanism: Mechanisms, epochs: int = 1) -> list[tuple[Mechanism, int]]:
        """Return `prvcore.TruncatedPoissonSubsampledGaussian`, which is of Gaussian noise alone."""
        base = on_same_records(mechanism, "mechanism")
        if not isinstance(base, Gaussian):
            raise TypeError(f"mechanism must be Gaussian on truncated batches, got {base!r}")
        step = TruncatedPoissonSubsampledGaussian(
            base.noise_multiplier,
            self.sampling_probability,
            self.dataset_size,
            self.maximum_batch_size,
        )
        return [(step, self.steps * _number(epochs, "epochs"))]

    def _draw(self, words: _Words) -> Iterator[NDArray[np.int64]]:
        for batch in super()._draw(words):
            if len(batch) > self.maximum_batch_size:
                yield batch[random_subset(len(batch), self.maximum_batch_size, words)]
            else:
                yield batch


class FixedSizeBatches(Batches):
    """Batches of one size, each a random subset of the records, drawn anew at every step.

    A pass over a shuffled data set is another thing: there a record that was in one batch is in no
    other one. See the pitfalls.

    Parameters
    ----------
    dataset_size : int
        Number of records, in [1, 2^40].
    batch_size : int
        Records of each batch, in [1, dataset_size].
    steps : int
        Number of batches of a pass, in [1, 2^32].
    seed : int, optional
        In [0, 2^128). Left out, the operating system's cryptographic generator is used.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range.

    """

    @hinting
    def __init__(
        self, dataset_size: int, batch_size: int, steps: int, *, seed: int | None = None
    ) -> None:
        super().__init__(dataset_size, seed)
        self.batch_size = _arguments.integer(batch_size, "batch_size", 1, self.dataset_size)
        self.steps = _number(steps, "steps")

    def __len__(self) -> int:
        return self.steps

    @property
    def expected_batch_size(self) -> float:
        """Return `batch_size`."""
        return float(self.batch_size)

    def accounted(self, mechanism: Mechanisms, epochs: int = 1) -> list[tuple[Mechanism, int]]:
        """Return `prvcore.SubsampledWithoutReplacement`, for ``neighbors="replace-one"``."""
        base = on_same_records(mechanism, "mechanism")
        share = quotient_rounded_up(self.batch_size, self.dataset_size)
        count = self.steps * _number(epochs, "epochs")
        return [(SubsampledWithoutReplacement(base, share), count)]

    def _draw(self, words: _Words) -> Iterator[NDArray[np.int64]]:
        for _ in range(self.steps):
            yield random_subset(self.dataset_size, self.batch_size, words)


class RandomAllocationBatches(Batches):
    """Passes in which each record is in one batch, or some, drawn by itself, anew in each pass.

    Batches vary in size. Cutting a shuffled data set into batches of one size is another mechanism,
    with a larger epsilon.

    Parameters
    ----------
    dataset_size : int
        Number of records, in [1, 2^40].
    batches : int
        Number of batches of a pass, in [1, 2^32].
    selected : int, default 1
        In how many of the batches each record is, in [1, batches]; each subset of so many has the
        same probability.
    seed : int, optional
        In [0, 2^128). Left out, the operating system's cryptographic generator is used.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range.

    """

    @hinting
    def __init__(
        self, dataset_size: int, batches: int, selected: int = 1, *, seed: int | None = None
    ) -> None:
        super().__init__(dataset_size, seed)
        self.batches = _number(batches, "batches")
        self.selected = _arguments.integer(selected, "selected", 1, self.batches)

    def __len__(self) -> int:
        return self.batches

    @property
    def expected_batch_size(self) -> float:
        """Return `dataset_size` times `selected` over `batches`."""
        return self.dataset_size * self.selected / self.batches

    def accounted(self, mechanism: Mechanisms, epochs: int = 1) -> list[tuple[Mechanism, int]]:
        """Return `prvcore.RandomAllocation`, whose count is the number of passes."""
        epoch = RandomAllocation(mechanism, self.batches, self.selected)
        return [(epoch, _number(epochs, "epochs"))]

    def _draw(self, words: _Words) -> Iterator[NDArray[np.int64]]:
        places = random_choices(self.dataset_size, self.batches, self.selected, words)
        return _split(places, self.batches)


class BallsInBinsBatches(Batches):
    """Passes in which each record stays in the batch that it drew before the first one.

    Parameters
    ----------
    dataset_size : int
        Number of records, in [1, 2^40].
    bins : int
        Number of batches of a pass, in [1, 2^32].
    seed : int, optional
        In [0, 2^128). Left out, the operating system's cryptographic generator is used. A run that
        resumes needs the same bins: make it with a secret seed, or save the sampler with `pickle`.

    Raises
    ------
    TypeError, ValueError
        An argument is of another kind, or is out of its range.

    Notes
    -----
    `accounted` is about passes from the first one on: two calls for 5 epochs are not a run of 10,
    which is one mechanism, ``accounted(mechanism, epochs=10)``.

    """

    @hinting
    def __init__(self, dataset_size: int, bins: int, *, seed: int | None = None) -> None:
        super().__init__(dataset_size, seed)
        self.bins = _number(bins, "bins")
        self._bins: NDArray[np.int64] | None = None  # one column

    def __len__(self) -> int:
        return self.bins

    @property
    def expected_batch_size(self) -> float:
        """Return `dataset_size` over `bins`."""
        return self.dataset_size / self.bins

    def accounted(self, mechanism: Mechanisms, epochs: int = 1) -> list[tuple[Mechanism, int]]:
        """Return one `prvcore.BallsInBins` of so many epochs."""
        return [(BallsInBins(mechanism, self.bins, _number(epochs, "epochs")), 1)]

    def _words(self, epoch: int) -> _Words:  # noqa: ARG002
        return super()._words(0)  # whichever epoch is the first one that is asked for

    def _draw(self, words: _Words) -> Iterator[NDArray[np.int64]]:
        if self._bins is None:
            self._bins = random_choices(self.dataset_size, self.bins, 1, words)
        return _split(self._bins, self.bins)

    def __repr__(self) -> str:
        shown = f"dataset_size={self.dataset_size}, bins={self.bins}"
        return f"BallsInBinsBatches({shown}{'' if self.seed is None else f', seed={self.seed}'})"


def batches_of(
    mechanism: Mechanism, dataset_size: int, steps: int = 1, *, seed: int | None = None
) -> Batches:
    """Return the batches that a sampled mechanism accounts for.

    Parameters
    ----------
    mechanism : Mechanism
        A Poisson sample, a truncated one, a sample of fixed size, a `prvcore.RandomAllocation` or
        `prvcore.BallsInBins`. If what runs on its batches is sampled in turn, it draws a sample of
        its own from each of them.
    dataset_size : int
        Number of records. A truncated sample has it already, and must have the same.
    steps : int, default 1
        Number of batches of a pass. The mechanism says it itself if it is an allocation, for which
        `steps` must be 1: one mechanism is then one pass, or the run of all passes.
    seed : int, optional
        As the samplers take it.

    Returns
    -------
    Batches
        The sampler of that kind.

    Raises
    ------
    TypeError, ValueError
        The mechanism is not sampled, or an argument is of another kind or out of its range. A
        sample of fixed size needs a probability that is a whole number of records over
        `dataset_size`.

    Examples
    --------
    >>> import prvcore as prv
    >>> from prvcore.sampling import batches_of
    >>> batches_of(prv.RandomAllocation(prv.Gaussian(1.0), batches=100), dataset_size=50_000)
    RandomAllocationBatches(dataset_size=50000, batches=100, selected=1)

    """
    if isinstance(mechanism, RandomAllocation | BallsInBins) and steps != 1:
        raise ValueError(f"steps must be 1 for an allocation, which has its own, got {steps!r}")
    if isinstance(
        mechanism, PoissonSubsampledGaussian | PoissonSubsampled | GroupPoissonSubsampledGaussian
    ):
        return PoissonBatches(dataset_size, mechanism.sampling_probability, steps, seed=seed)
    if isinstance(mechanism, TruncatedPoissonSubsampledGaussian):
        if _size(dataset_size, "dataset_size") != mechanism.dataset_size:
            raise ValueError(
                f"dataset_size must be that of the mechanism, {mechanism.dataset_size}, "
                f"got {dataset_size!r}"
            )
        return TruncatedPoissonBatches(
            dataset_size,
            mechanism.sampling_probability,
            mechanism.maximum_batch_size,
            steps,
            seed=seed,
        )
    if isinstance(mechanism, SubsampledWithoutReplacement):
        size = _size(dataset_size, "dataset_size")
        batch_size = round(size * mechanism.sampling_probability)
        shares = batch_size / size, quotient_rounded_up(batch_size, size)
        if mechanism.sampling_probability not in shares:
            raise ValueError(
                "sampling_probability must be a number of records over dataset_size, "
                f"{size}, got {mechanism.sampling_probability!r}"
            )
        return FixedSizeBatches(size, batch_size, steps, seed=seed)
    if isinstance(mechanism, GroupSubsampledWithoutReplacementGaussian):
        if _size(dataset_size, "dataset_size") != mechanism.dataset_size:
            raise ValueError(
                f"dataset_size must be that of the mechanism, {mechanism.dataset_size}, "
                f"got {dataset_size!r}"
            )
        return FixedSizeBatches(dataset_size, mechanism.batch_size, steps, seed=seed)
    if isinstance(mechanism, RandomAllocation):
        return RandomAllocationBatches(
            dataset_size, mechanism.batches, mechanism.selected, seed=seed
        )
    if isinstance(mechanism, BallsInBins):
        return BallsInBinsBatches(dataset_size, mechanism.bins, seed=seed)
    raise TypeError(f"mechanism must be a sampled one, got {mechanism!r}")


def poisson_sample(size: int, probability: float, words: _Words) -> NDArray[np.int64]:
    """Return which of `size` records a Poisson sample has, each with exactly `probability`.

    A uniform real number U in [0, 1) is below the probability p with probability p. Its binary
    digits are drawn 64 at a time: those drawn first decide unless they are those of p, in which
    case the next ones do. The digits of a float end, so that no decision takes more than 18 words.
    """
    first, rest = _digits(probability)
    found = [np.empty(0, np.int64)]
    for start in range(0, size, _CHUNK):
        drawn = words(min(_CHUNK, size - start))
        if first == 2**64:  # of p = 1
            inside = np.ones(len(drawn), bool)
        else:
            inside = drawn < np.uint64(first)
            if rest:
                for place in np.flatnonzero(drawn == np.uint64(first)):
                    inside[place] = _below(rest, words)
        found.append(np.flatnonzero(inside) + start)
    return np.concatenate(found)


def _digits(fraction: float | Fraction) -> tuple[int, Fraction]:
    """Return the first 64 binary digits, as an integer, and what is left, in [0, 1)."""
    scaled = Fraction(fraction) * 2**64
    return math.floor(scaled), scaled - math.floor(scaled)


def _below(fraction: Fraction, words: _Words) -> bool:
    """Return whether a uniform real number is below `fraction`, which is below 1."""
    while fraction:
        first, fraction = _digits(fraction)
        drawn = int(words(1)[0])
        if drawn != first:
            return drawn < first
    return False  # it has the same digits, and perhaps others behind them


def random_subset(size: int, number: int, words: _Words) -> NDArray[np.int64]:
    """Return `number` of `size` records in ascending order, each subset with one probability.

    Each record draws a key, and those with the least keys are taken. If two keys at the border are
    equal, all are drawn again: whether they are is a symmetric function of the keys, so that given
    that they are not, all subsets have the same probability.
    """
    if number in (0, size):
        return np.arange(number)
    while True:
        keys = words(size)
        order = np.argpartition(keys, number)  # the key of rank `number` is in its place
        least = order[:number]
        if keys[least].max() < keys[order[number]]:
            return np.sort(least)


def random_integers(count: int, below: int, words: _Words) -> NDArray[np.int64]:
    """Return integers in [0, below), each with the same probability.

    Words above the greatest multiple of `below` are drawn again.
    """
    greatest = 2**64 - 2**64 % below - 1
    drawn = words(count)
    while len(again := np.flatnonzero(drawn > np.uint64(greatest))):
        drawn[again] = words(len(again))
    return (drawn % np.uint64(below)).astype(np.int64)


def random_choices(count: int, below: int, selected: int, words: _Words) -> NDArray[np.int64]:
    """Return a row for each record: `selected` distinct integers in [0, below).

    By Floyd's algorithm each set has the same probability: for j = below - selected, ..., below - 1
    an integer in [0, j] is drawn, and j is taken in its place if it was drawn before.
    """
    chosen = np.empty((count, selected), np.int64)
    for i, j in enumerate(range(below - selected, below)):
        drawn = random_integers(count, j + 1, words)
        before = (chosen[:, :i] == drawn[:, None]).any(axis=1)
        chosen[:, i] = np.where(before, j, drawn)
    return chosen


def _split(places: NDArray[np.int64], number: int) -> Iterator[NDArray[np.int64]]:
    """Yield the records that have each place in their row, in ascending order; maybe none."""
    flat = places.ravel()
    order = np.argsort(flat, kind="stable")
    ends = np.searchsorted(flat[order], np.arange(1, number + 1))
    start = 0
    for end in ends.tolist():
        yield order[start:end] // places.shape[1]
        start = end


def _words_of_the_system(count: int) -> NDArray[np.uint64]:
    return np.frombuffer(bytearray(os.urandom(8 * count)), np.uint64)
