"""Running budgets: what a training has spent so far, and what it may still do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from itertools import islice
from typing import Any, Unpack, overload

from numpy.typing import ArrayLike

from prvcore import _arguments, _pickling
from prvcore._arguments import Array, Scalar
from prvcore._bounds import ArrayBounds, Bounds, EitherBounds, ScalarBounds
from prvcore._calibrate import calibrate, steps_left
from prvcore._compose import compose
from prvcore._core.composition import History
from prvcore._core.mechanism import Handle
from prvcore._curve import PrivacyCurve
from prvcore._errors import AccuracyWarning, TargetError
from prvcore._names import by_name, hinting, known_elsewhere, public
from prvcore._progress import ProgressOption
from prvcore._report import OfCurve
from prvcore._settings import ComposeOptions, How, check_known, memory_limit_of
from prvcore._steps import Mechanisms, Steps, pairs, refuse_mixed_groups
from prvcore._warnings import warn_caller
from prvcore.budgets.chain import Link
from prvcore.files.mechanisms import mechanism_from_dict, mechanism_to_dict
from prvcore.files.plain import plain_values
from prvcore.mechanisms.base import Mechanism, check_mechanism
from prvcore.mechanisms.composed import Composed
from prvcore.mechanisms.noise import Gaussian
from prvcore.mechanisms.subsampled import PoissonSubsampled, PoissonSubsampledGaussian

__all__ = ["Accountant"]

_FORMAT = "prvcore accountant"
_VERSION = 1
_KEPT_ANSWERS = 256
_CALIBRATED = ("neighbors", "engine")  # options that `calibrate` takes, too
_MOST_BEHIND = 64  # additions, and as many as there are mechanisms, before what they make is told
_MANY = 4  # distinct mechanisms: from so many on it pays to keep what was computed for each
_MOST_REPORTED = 64  # distinct mechanisms: bounds of more would hold too much memory


class _Held:
    """What an accountant held at one moment, and what was computed of that.

    The counts never change, so that an answer that is kept here is one of what was held, whoever
    computed it and whatever was added meanwhile. The rest may be computed twice, by two threads.
    """

    __slots__ = ("answers", "counts", "curve", "handles", "ordered")

    def __init__(self, counts: dict[Mechanism, int], handles: tuple[Handle, ...]) -> None:
        self.counts = counts
        self.handles = handles  # of the first mechanisms, as far as they were asked about
        self.curve: PrivacyCurve | None = None
        self.ordered: PrivacyCurve | None = None
        # by what was asked, where, and under which memory limit: the bounds, and what to warn of
        self.answers: dict[tuple[str, float, int], tuple[Bounds[Any], AccuracyWarning | None]] = {}

    def history(self) -> Steps:
        """Return the counts as pairs."""
        return tuple(self.counts.items())


class _Version(Link):
    """What an accountant holds after one addition: what it did before, and what was added."""

    __slots__ = ("count", "first", "held", "mechanism", "number", "steps")

    def __init__(
        self, mechanism: Mechanism | None, count: int, number: int, steps: int, held: _Held | None
    ) -> None:
        super().__init__()
        self.mechanism = mechanism  # that was added, None at the beginning
        self.count = count
        self.number = number  # of additions
        self.steps = steps  # all together
        self.held = held  # None until somebody asks
        self.first = mechanism  # of all, None where nothing has run

    @classmethod
    def beginning(cls, counts: dict[Mechanism, int]) -> _Version:
        """Return the version of an accountant that goes on from these counts."""
        version = cls(None, 0, 0, sum(counts.values()), _Held(dict(counts), ()))
        version.first = next(iter(counts), None)
        return version

    def newest(self) -> _Version:
        """Return the last version with what it holds; this one must have it, too."""
        version, held, counts = self, self.content(), None
        while (later := version.next()) is not None:
            version = later
            counts = dict(held.counts) if counts is None else counts
            assert version.mechanism is not None  # but for the beginning
            counts[version.mechanism] = counts.get(version.mechanism, 0) + version.count
        if version.held is None:
            assert counts is not None
            version.held = _Held(counts, held.handles)
        return version

    def content(self) -> _Held:
        """Return what this version holds; somebody has asked for it, or made it."""
        assert self.held is not None
        return self.held


def _step_of(
    noise_multiplier: float, sampling_probability: float, beside: Mechanisms = ()
) -> Mechanism:
    """Return a step of DP-SGD, with what else runs on its sample."""
    if beside == ():
        return PoissonSubsampledGaussian(noise_multiplier, sampling_probability)
    others = pairs(beside, None, "beside")
    for mechanism, _ in others:
        # legal, but hardly what is meant: its epsilon is too small for what runs on the sample
        if 0.0 < sampling_probability < 1.0 and (
            mechanism._parameter("sampling_probability") == sampling_probability
        ):
            warn_caller(
                UserWarning(
                    f"beside has {mechanism!r}, a sample of the sample that this step draws. What "
                    "runs on the step's own sample is given without one"
                )
            )
    both = Composed(((Gaussian(noise_multiplier), 1), *others))
    return PoissonSubsampled(both, sampling_probability)


@public
@partial(known_elsewhere, curve=PrivacyCurve)
class Accountant:
    """Keeps what has run, and bounds the privacy that it has cost.

    Parameters
    ----------
    **options
        The keyword arguments of `compose`, with which the history is composed.

    Raises
    ------
    TypeError, ValueError
        An option is none of `compose`, or out of its range.

    Notes
    -----
    Equal mechanisms are merged into one with a count, and a query costs the same however often each
    has run. What was computed for a mechanism is kept, for up to 8 different points that were asked
    about: 1,000 epochs, each with noise of its own and a query after it, take a few seconds in all.
    Where losses have atoms of different places (Laplace noise, pure DP) that does not work, and a
    query costs some tenths of a millisecond or more for each distinct mechanism.

    The bounds depend on what ran, in which order, and not on what was asked before. Those of 4
    distinct mechanisms and more are as close as those of ``curve()``, but not the same.

    Mutable. Any threads may add and ask at the same time: each addition is recorded as a whole or
    not at all, whatever exception or signal comes between, and an answer is that of all that had
    been recorded at one moment between the call and its return.

    Examples
    --------
    >>> import prvcore as prv
    >>> accountant = prv.Accountant()
    >>> for _ in range(1000):
    ...     accountant.step(noise_multiplier=0.8, sampling_probability=1e-3)
    >>> lower, estimate, upper = accountant.epsilon(1e-7)
    >>> accountant.steps
    1000

    """

    __slots__ = ("_histories", "_known", "_last", "_options", "_recent")

    @partial(hinting, options=ComposeOptions)
    def __init__(self, **options: Unpack[ComposeOptions]) -> None:
        check_known("Accountant", options, ComposeOptions)
        checked = compose([], **options)
        self._options: dict[str, Any] = {name: getattr(checked, name) for name in options}
        self._begin({})

    def _begin(self, counts: dict[Mechanism, int]) -> None:
        # Both may lag behind: what has run is told by the last version that follows them.
        self._known = _Version.beginning(counts)  # one with what it holds
        self._last = self._known
        self._recent: tuple[Any, Any, Mechanism] | None = None  # of `step`
        self._histories: list[History] = []  # that no thread is asking

    def _newest(self) -> _Version:
        """Return the last version, with what it holds."""
        self._known = known = self._known.newest()
        return known

    def _now(self) -> _Held:
        """Return what is held at this moment."""
        return self._newest().content()

    def _end(self) -> _Version:
        """Return the last version, which may be without what it holds."""
        self._last = last = self._last.last()
        return last

    def _add_after(self, version: _Version, mechanism: Mechanism, count: int) -> bool:
        """Record count > 0 of a mechanism, unless something has been recorded after `version`."""
        return self._add_all_after(version, [(mechanism, count)])

    def _add_all(self, steps: list[tuple[Mechanism, int]]) -> None:
        """Record all these steps, or none of them where that fails."""
        steps = [(mechanism, count) for mechanism, count in steps if count]
        while steps and not self._add_all_after(self._end(), steps):
            pass  # another thread was faster: after what it has added, then

    def _add_all_after(self, version: _Version, steps: list[tuple[Mechanism, int]]) -> bool:
        _arguments.total_count([version.steps, *(count for _, count in steps)])
        beginning = added = None
        number, total, first = version.number, version.steps, version.first
        for mechanism, count in steps:
            number, total = number + 1, total + count
            later = _Version(mechanism, count, number, total, None)
            if first is not None:
                refuse_mixed_groups((first, mechanism))
                later.first = first
            first = later.first
            if added is None:
                beginning = later
            else:
                added.extend(later)
            added = later
        assert beginning is not None  # there are steps
        assert added is not None
        if not version.extend(beginning):
            return False
        self._last = added
        known = self._known
        if number - known.number > _MOST_BEHIND + len(known.content().counts):
            self._newest()  # and lets go of the versions before
        return True

    @property
    def history(self) -> tuple[tuple[Mechanism, int], ...]:
        """Distinct mechanisms in the order in which they first ran, and how often each has run."""
        return self._now().history()

    @property
    def steps(self) -> int:
        """How many mechanisms have run."""
        return self._end().steps

    @property
    def options(self) -> dict[str, Any]:
        """A copy of the keyword arguments of `compose` that were given."""
        return dict(self._options)

    @by_name
    def step(
        self,
        *,
        noise_multiplier: float,
        sampling_probability: float = 1.0,
        count: int = 1,
        beside: Mechanisms = (),
    ) -> None:
        """Record steps of DP-SGD.

        Parameters
        ----------
        noise_multiplier : float
            Standard deviation of the noise over the clipping norm, finite and >= 0.
        sampling_probability : float, default 1
            Probability in [0, 1] with which each record entered the batch.
        count : int, default 1
            How many such steps, >= 0.
        beside : Mechanism or iterable, optional
            What else ran *on the same sample* in each step, as `compose` takes mechanisms: a
            `NoisyCount` that adapts the clipping norm, for instance. If the count is recorded by
            `add` instead, as a sampled mechanism of its own, the epsilon is too small; so it is if
            a sampled mechanism is given here, which is one on a sample of the sample. A UserWarning
            says so where both have one sampling probability.

        Raises
        ------
        TypeError, ValueError
            An argument is of another kind or out of its range, the counts would add up to more than
            2^53, or what has run is for groups of another size; nothing is recorded then.

        """
        if beside != ():
            mechanism: Mechanism = _step_of(noise_multiplier, sampling_probability, beside)
            # refuses what cannot be a part before it is recorded
            mechanism._build(self._options.get("neighbors", "add-or-remove"))
            self.add(mechanism, count)
            return
        last = self._recent
        if last is None or last[0] is not noise_multiplier or last[1] is not sampling_probability:
            mechanism = PoissonSubsampledGaussian(noise_multiplier, sampling_probability)
            self._recent = last = (noise_multiplier, sampling_probability, mechanism)
        self.add(last[2], count)

    @hinting
    def add(self, mechanism: Mechanism, count: int = 1) -> None:
        """Record a mechanism of any kind.

        Parameters
        ----------
        mechanism : Mechanism
            What ran.
        count : int, default 1
            How often, >= 0.

        Raises
        ------
        TypeError, ValueError
            An argument is of another kind or out of its range, the counts would add up to more than
            2^53, or what has run is for groups of another size; nothing is recorded then.

        """
        check_mechanism(mechanism)
        count = _arguments.count(count, "count")
        self._add_all([(mechanism, count)])

    def curve(self) -> PrivacyCurve:
        """Return the composition of all that has run; it does not change with what runs later."""
        return self._curve_of(self._now())

    def _curve_of(self, held: _Held) -> PrivacyCurve:
        curve = held.curve
        if curve is None:
            held.curve = curve = compose(held.history(), **self._options)
        return curve

    @overload
    def epsilon(self, delta: Scalar, **how: Unpack[How]) -> ScalarBounds: ...
    @overload
    def epsilon(self, delta: Array, **how: Unpack[How]) -> ArrayBounds: ...
    @overload
    def epsilon(self, delta: ArrayLike, **how: Unpack[How]) -> EitherBounds: ...
    @hinting
    def epsilon(
        self,
        delta: ArrayLike,
        *,
        progress: ProgressOption = False,
        memory_limit: int | None = None,
    ) -> Bounds[Any]:
        """Bound the epsilon spent so far.

        Parameters
        ----------
        delta : float or array_like of float, any shape
            Probabilities in [0, 1].
        progress, memory_limit
            As `PrivacyCurve.epsilon` takes them.

        Returns
        -------
        Bounds
            Nats: floats for a scalar, else arrays of the shape of `delta`.

        See Also
        --------
        PrivacyCurve.epsilon : raises and warns of the same.

        """
        return self._ask("epsilon", delta, progress, memory_limit)

    @overload
    def delta(self, epsilon: Scalar, **how: Unpack[How]) -> ScalarBounds: ...
    @overload
    def delta(self, epsilon: Array, **how: Unpack[How]) -> ArrayBounds: ...
    @overload
    def delta(self, epsilon: ArrayLike, **how: Unpack[How]) -> EitherBounds: ...
    @hinting
    def delta(
        self,
        epsilon: ArrayLike,
        *,
        progress: ProgressOption = False,
        memory_limit: int | None = None,
    ) -> Bounds[Any]:
        """Bound the delta of all that has run.

        Parameters
        ----------
        epsilon : float or array_like of float, any shape
            Nats, of either sign and infinite too, but not nan.
        progress, memory_limit
            As `PrivacyCurve.epsilon` takes them.

        Returns
        -------
        Bounds
            Probabilities: floats for a scalar, else arrays of the shape of `epsilon`.

        See Also
        --------
        PrivacyCurve.delta : raises and warns of the same.

        """
        return self._ask("delta", epsilon, progress, memory_limit)

    def _ask(
        self, wanted: str, point: Any, progress: ProgressOption, memory_limit: int | None
    ) -> Bounds[Any]:
        held, limit = self._now(), memory_limit_of(memory_limit)
        key = (wanted, point, limit) if type(point) is float else None
        found = None if key is None else held.answers.get(key)
        if found is None:
            found = self._compute(held, wanted, point, progress, limit)
            if key is not None and len(held.answers) < _KEPT_ANSWERS:
                held.answers[key] = found
        bounds, warning = found
        if warning is not None:
            warn_caller(warning)
        return bounds

    def _compute(
        self, held: _Held, wanted: str, point: Any, progress: ProgressOption, limit: int
    ) -> tuple[Bounds[Any], AccuracyWarning | None]:
        if len(held.counts) < _MANY:
            return self._curve_of(held)._answer(wanted, point, progress, limit)
        curve = self._in_order(held)
        # each thread one of its own: what a history keeps makes no difference but in time
        try:
            history = self._histories.pop()
        except IndexError:
            history = History()
        found = curve._answer(wanted, point, progress, limit, history)
        self._histories.append(history)  # not if that failed: what is half done is given up
        if len(held.counts) < _MOST_REPORTED:
            found[0]._of(OfCurve(wanted, point, curve))
        return found

    def _in_order(self, held: _Held) -> PrivacyCurve:
        """Return the curve of all that has run in its order, of the same handles as before."""
        curve = held.ordered
        if curve is None:
            settings = compose([], **self._options)
            known = held.handles
            new = islice(held.counts, len(known), None)
            handles = (*known, *(mechanism._build(settings.neighbors) for mechanism in new))
            held.handles = handles
            held.ordered = curve = settings._of_history(held.history(), handles)
        return curve

    def _followed_by(self, held: _Held, mechanism: Mechanism, count: int) -> PrivacyCurve:
        """Return the composition of what was held and of more."""
        return compose([*held.counts.items(), (mechanism, count)], **self._options)

    @by_name
    def remaining_steps(
        self,
        *,
        epsilon: float,
        delta: float,
        noise_multiplier: float,
        sampling_probability: float = 1.0,
        beside: Mechanisms = (),
        progress: ProgressOption = False,
        memory_limit: int | None = None,
    ) -> int:
        """Return how many more steps of DP-SGD a budget allows.

        Parameters
        ----------
        epsilon : float
            Budget of all that has run and of these steps, nats, finite and >= 0.
        delta : float
            Budget, a probability in [0, 1].
        noise_multiplier, sampling_probability, beside
            As `step` takes them.
        progress, memory_limit
            As `PrivacyCurve.epsilon` takes them.

        Returns
        -------
        int
            The most steps with which the certified upper bound is within the budget; 0 too where it
            has been exceeded already.

        Raises
        ------
        TypeError, ValueError
            An argument is of another kind or out of its range, or there are options with which
            `calibrate` does not work: ``discretization="mean-matching"`` or a `mesh_size`.

        See Also
        --------
        calibrate : the same for any mechanism, with the proof, by its argument `after`.

        Notes
        -----
        The bounds are made as close as this needs, whatever the option `eps_error`. After so many
        steps `epsilon`, whose bounds are wider, may say a little more than the budget.

        """
        self._refuse_uncalibrated()
        mechanism = _step_of(noise_multiplier, sampling_probability, beside)
        how: How = {"progress": progress, "memory_limit": memory_limit}
        return self._remaining(self._now(), mechanism, epsilon, delta, **how) or 0

    def _remaining(
        self,
        held: _Held,
        mechanism: Mechanism,
        epsilon: float,
        delta: float,
        **how: Unpack[How],
    ) -> int | None:
        """Return how many more a budget allows, None where it has been exceeded."""
        options = {name: self._options[name] for name in _CALIBRATED if name in self._options}
        budget: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "after": held.history()}
        if not isinstance(mechanism, Composed):
            return steps_left(mechanism, **budget, **options, **how)
        try:
            found = calibrate(mechanism, parameter="steps", **budget, **options, **how)
        except TargetError:
            return None
        return int(found.value)

    def _refuse_uncalibrated(self) -> None:
        curve = self.curve()
        if curve.discretization == "mean-matching" or curve.mesh_size is not None:
            raise ValueError(
                "what is left of a budget is found without discretization='mean-matching' and "
                f"without mesh_size, got discretization={curve.discretization!r} and "
                f"mesh_size={curve.mesh_size!r}"
            )

    def copy(self) -> Accountant:
        """Return an accountant of the same history and options that goes on by itself."""
        other = Accountant(**self._options)
        other._begin(self._now().counts)
        return other

    def to_json(self) -> str:
        """Return the history and the options as JSON.

        Returns
        -------
        str
            From which `from_json` makes an accountant whose answers have the same bits.

        Raises
        ------
        TypeError
            A mechanism was given by functions, which cannot be saved.

        """
        return json.dumps(
            {
                "format": _FORMAT,
                "version": _VERSION,
                "options": self._options,
                "history": [
                    {"mechanism": mechanism_to_dict(mechanism), "count": count}
                    for mechanism, count in self.history
                ],
            },
            allow_nan=False,
        )

    @classmethod
    def from_opacus(cls, history: Any, **options: Unpack[ComposeOptions]) -> Accountant:
        """Return the accountant of a run that Opacus has recorded.

        Parameters
        ----------
        history : accountant of Opacus, mapping or iterable
            Any accountant of Opacus (``privacy_engine.accountant``), what its ``state_dict()``
            returned, or its history: triples of noise multiplier, sample rate and steps.
        **options
            As in `Accountant`.

        Returns
        -------
        Accountant
            With the same steps. Opacus is not imported.

        Raises
        ------
        TypeError, ValueError
            If `history` is none of these. A sample rate above 1 is of batches that were added up,
            which are no Poisson sample.

        Notes
        -----
        Opacus records the same for batches that were not drawn as Poisson samples
        (``poisson_sampling=False``), and for optimizers that publish more than the gradient, such
        as adaptive clipping: their steps are other mechanisms, and the bounds do not hold for them.

        Examples
        --------
        >>> import prvcore as prv
        >>> accountant = prv.Accountant.from_opacus([(1.1, 1 / 235, 3525)])
        >>> f"{accountant.epsilon(1e-5):.3f}"
        '[1.131, 1.133]'

        """
        runs: Any = history.get("history") if isinstance(history, Mapping) else history
        runs = getattr(runs, "history", runs)
        try:
            entries = [(noise, rate, steps) for noise, rate, steps in runs]
        except (TypeError, ValueError):
            raise TypeError(
                "history must be an accountant of Opacus, its state_dict or its history of "
                f"(noise multiplier, sample rate, steps), got {_arguments.short(history)}"
            ) from None
        accountant = cls(**options)
        for place, (noise, rate, steps) in enumerate(entries):
            where = f"history[{place}]"
            _arguments.non_negative(noise, f"the noise multiplier of {where}")
            _arguments.probability(rate, f"the sample rate of {where}")
            _arguments.count(steps, f"the steps of {where}")
            accountant.step(noise_multiplier=noise, sampling_probability=rate, count=steps)
        return accountant

    @classmethod
    def from_json(cls, text: str | bytes) -> Accountant:
        """Return the accountant that was saved by `to_json`.

        Parameters
        ----------
        text : str or bytes
            What `to_json` returned.

        Returns
        -------
        Accountant
            With the same history in the same order, and the same options.

        Raises
        ------
        TypeError, ValueError
            `text` is not what `to_json` returns, or that of a later version.

        """
        if not isinstance(text, str | bytes):
            raise TypeError(f"text must be a str or bytes, got {text!r}")
        refusal = f"text must be what Accountant.to_json returned, got {text[:80]!r}"
        try:
            found = plain_values(text)
        except ValueError as error:
            raise ValueError(f"{refusal}: {error}") from None
        if not isinstance(found, Mapping) or found.get("format") != _FORMAT:
            raise ValueError(refusal)
        if found.get("version") != _VERSION:
            raise ValueError(f"version must be {_VERSION}, got {found.get('version')!r}")
        options, history = found.get("options"), found.get("history")
        if not isinstance(options, Mapping) or not isinstance(history, list):
            raise ValueError(f"{refusal}: it must have options and a history")
        accountant = cls(**options)
        for place, entry in enumerate(history):
            if not isinstance(entry, Mapping) or set(entry) != {"mechanism", "count"}:
                raise ValueError(f"history[{place}] must have a mechanism and a count")
            accountant.add(mechanism_from_dict(entry["mechanism"]), entry["count"])
        return accountant

    def __getstate__(self) -> tuple[Any, ...]:
        # copies, since copy.copy shares what is given here
        return _pickling.VERSION, dict(self._options), dict(self._now().counts)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _pickling.check(type(self), state[0])
        _, self._options, counts = state
        self._begin(counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Accountant):
            return NotImplemented
        return self.history == other.history and self._options == other._options

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        steps = ", ".join(f"({mechanism!r}, {count})" for mechanism, count in self.history)
        options = "".join(f", {name}={value!r}" for name, value in self._options.items())
        return f"Accountant(history=[{steps}]{options})"
