"""The rows of ``tests/data``, and the mechanisms and curves that they describe."""

import json

import prvcore as prv
from tests.support.checkout import DATA

ROWS = json.loads((DATA / "truth.json").read_text(encoding="utf-8"))["rows"]
REPORTS = json.loads((DATA / "known_reports.json").read_text(encoding="utf-8"))
SLACK = 1e-12  # the decimal strings are rounded to binary before they are used


def mechanism(spec):
    kind = spec["type"]
    value = {key: float(text) for key, text in spec.items() if key not in ("type", "base")}
    if kind == "gaussian":
        return prv.Gaussian(value["noise_multiplier"])
    if kind == "laplace":
        return prv.Laplace(value["scale"])
    if kind == "subsampled_gaussian":
        return prv.PoissonSubsampledGaussian(
            value["noise_multiplier"], value["sampling_probability"]
        )
    if kind == "subsampled_laplace":
        base = prv.Laplace(value["scale"])
        return prv.PoissonSubsampled(base, value["sampling_probability"])
    if kind in ("epsilon_delta", "approximate_dp"):
        return prv.ApproximateDP(value["epsilon"], value["delta"])
    if kind == "subsampled_epsilon_delta":
        base = prv.ApproximateDP(value["epsilon"], value["delta"])
        return prv.PoissonSubsampled(base, value["sampling_probability"])
    discrete = {"discrete_gaussian": prv.DiscreteGaussian, "discrete_laplace": prv.DiscreteLaplace}
    return discrete[kind](value.get("sigma", value.get("scale")), int(value["sensitivity"]))


def curve_of(row, eps_error):
    steps = [(mechanism(step["mechanism"]), step["count"]) for step in row["steps"]]
    neighbors = "add-or-remove" if row["direction"] == "both" else row["direction"]
    return prv.compose(steps, neighbors=neighbors, eps_error=eps_error)
