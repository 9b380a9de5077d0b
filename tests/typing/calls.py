"""What type checkers say of calls: mypy is run on this file, nothing in it is executed.

A line with `# type: ignore` must be refused: mypy is told to report those that are not needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_type

import numpy as np

import prvcore as prv

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


def scalars_come_back_as_floats(curve: prv.PrivacyCurve, accountant: prv.Accountant) -> None:
    assert_type(curve.epsilon(1e-5), prv.Bounds[float])
    assert_type(curve.epsilon(np.float64(1e-5)).upper, float)
    assert_type(curve.delta(np.int64(1)).upper, float)
    assert_type(curve.power(0.1).upper, float)
    assert_type(curve.trade_off(0.1).upper, float)
    assert_type(curve.bayes_risk(0.5).upper, float)
    assert_type(curve.gaussian_mu(1e-5).upper, float)
    assert_type(curve.renyi_divergence(2).upper, float)
    assert_type(curve.total_variation().upper, float)
    assert_type(accountant.epsilon(1e-5).upper, float)
    assert_type(accountant.delta(1.0).upper, float)
    assert_type(prv.eps_from_delta(curve, 1e-5).upper, float)
    assert_type(prv.delta_from_eps(prv.Gaussian(1.0), 1.0, counts=3).upper, float)
    assert_type(prv.shuffled_lower_bound(0.5, 10, delta=1e-6), float)
    assert_type(prv.dpsgd_epsilon(1.0, 1e-3, 100, 1e-5).upper, float)
    assert_type(prv.dpsgd_steps(1.0, 1e-3, 1.0, 1e-5).upper, float)
    assert_type(prv.explain(curve, 1e-5).epsilon.upper, float)
    assert_type(prv.calibrate(prv.Gaussian(1.0), epsilon=1.0, delta=1e-5).bounds.upper, float)


def arrays_come_back_as_arrays(
    curve: prv.PrivacyCurve, accountant: prv.Accountant, points: Floats
) -> None:
    assert_type(curve.epsilon(points), prv.Bounds["Floats"])
    assert_type(curve.delta([1.0, 2.0]).upper, "Floats")
    assert_type(curve.power([0.1]).upper, "Floats")
    assert_type(accountant.epsilon(points).upper, "Floats")
    assert_type(prv.eps_from_delta(curve, [1e-5]).upper, "Floats")
    assert_type(prv.dpsgd_epsilon(1.0, 1e-3, [100, 200], 1e-5).upper, "Floats")
    assert_type(prv.dpsgd_noise_multiplier(1e-3, 100, [1.0, 2.0], 1e-5).lower, "Floats")


def what_may_be_either_comes_back_as_either(curve: prv.PrivacyCurve, point: ArrayLike) -> None:
    assert_type(curve.epsilon(point).upper, "float | Floats")


def options_are_known(curve: prv.PrivacyCurve, told: list[prv.Progress]) -> None:
    curve.epsilon(1e-5, progress=True, memory_limit=2**20)
    curve.epsilon(1e-5, progress=told.append)
    curve.epsilon(1e-5, progress=3)  # type: ignore[call-overload]
    curve.epsilon(1e-5, memory=3)  # type: ignore[call-overload]
    curve.plot("steps", delta=1e-5)
    curve.plot("steps")  # type: ignore[call-overload]
    curve.plot("trade-off", delta=1e-5)  # type: ignore[call-overload]
    prv.compose(prv.Gaussian(1.0), neighbors="remove", engine="spectrum")
    prv.compose(prv.Gaussian(1.0), neighbors="removed")  # type: ignore[arg-type]
    prv.eps_from_delta(prv.Gaussian(1.0), 1e-5, eps_error=0.1, progress=print)
    prv.eps_from_delta(prv.Gaussian(1.0), 1e-5, epserror=0.1)  # type: ignore[call-overload]
    prv.Accountant(eps_error=0.1)
    prv.Accountant(eps_error="small")  # type: ignore[arg-type]
    prv.Accountant(tolerance=0.1)  # type: ignore[call-arg]
    prv.dpsgd_delta(1.0, 1e-3, 100, 1.0, neighbors="add", workers=2, memory_limit=2**20)
    prv.dpsgd_delta(1.0, 1e-3, 100, 1.0, tolerance=0.1)  # type: ignore[call-overload]
    prv.dpsgd_steps(1.0, 1e-3, 1.0, 1e-5, tolerance=0.1, progress=True)
    prv.dpsgd_steps(1.0, 1e-3, 1.0, 1e-5, eps_error=0.1)  # type: ignore[call-overload]
    plan = prv.dpsgd_schedule(60_000, 256, 15, rounding="up")
    plan.epsilon(1.1, 1e-5, eps_error=0.1, workers=1)
    plan.epsilon(1.1, 1e-5, tolerance=0.1)  # type: ignore[call-arg]
    prv.calibrate(prv.Gaussian(1.0), epsilon=1.0, delta=1e-5, parameter="steps")
    prv.calibrate(prv.Gaussian(1.0), epsilon=1.0, delta=1e-5, parameter="step")  # type: ignore[arg-type]


def names_are_loaded_when_asked_for_and_known_before() -> Any:
    return prv.Laplass(1.0)  # type: ignore[attr-defined]
