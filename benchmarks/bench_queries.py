"""Whole queries of prvcore, from parameters to epsilon, one parameter swept at a time."""

# ruff: noqa: ARG002 (asv passes every parameter to every benchmark)

import warnings

import prvcore

from .closed_form import gaussian_delta
from .measure import measure, never_seen_before
from .peers import Run, find
from .transforms import transforms_of

STEPS = [10**power for power in range(7)]
DELTA = 1e-7


def runs_of(noise_multiplier=0.8, sampling_probability=1e-3, steps=1000, mechanisms=1):
    """Make the composition asked about: `mechanisms` of about equal noise share the steps."""
    return [
        Run(noise_multiplier * (1 + 0.01 * which), sampling_probability, steps // mechanisms)
        for which in range(mechanisms)
    ]


class _Query:
    """A question whose name of parameter is that of `runs_of`, or else delta or an option."""

    number, repeat, rounds, warmup_time = 1, (3, 30, 1.0), 1, 0
    timeout = 120
    discretization = "bracketing"

    def setup(self, value):
        [name] = self.param_names
        asked = {name: value}
        self.delta = asked.pop("delta", DELTA)
        self.options = {"discretization": self.discretization}
        if name in ("eps_error", "engine"):
            self.options |= asked
            asked = {}
        self.runs, self.calls = runs_of(**asked), 0
        self.prvcore = find("prvcore")
        self.time_epsilon(value)  # plans and page faults are not what is timed here

    def time_epsilon(self, value):
        """Ask about mechanisms never asked about before, so that no cache can answer."""
        self.calls += 1
        fresh = never_seen_before(self.runs, self.calls)
        return self.prvcore.epsilon(fresh, self.delta, **self.options)

    def peakmem_epsilon(self, value):
        self.time_epsilon(value)

    def track_width(self, value):
        """``upper - lower``."""
        answer = self.time_epsilon(value)
        return answer.upper - answer.lower

    track_width.unit = "nats"

    def track_time_over_transforms(self, value):
        """Time over that of the Fourier transforms it executed; nan where there are none."""
        budget = self.prvcore.curve(self.runs, **self.options).error_budget(delta=self.delta)
        asked = measure(self.prvcore.epsilon, self.runs, self.delta, **self.options)
        return asked.seconds / transforms_of(budget)

    track_time_over_transforms.unit = "times the FFTs"


class Steps(_Query):
    params, param_names = STEPS, ("steps",)


class SamplingProbability(_Query):
    params, param_names = [1e-5, 1e-2, 0.1, 1.0], ("sampling_probability",)


class NoiseMultiplier(_Query):
    params, param_names = [0.5, 2.0, 20.0], ("noise_multiplier",)


class Delta(_Query):
    params, param_names = [1e-3, 1e-5, 1e-10, 1e-30, 1e-300], ("delta",)


class EpsError(_Query):
    params, param_names = [1e-1, 1e-2, 1e-3, 1e-4, 1e-6], ("eps_error",)


class Mechanisms(_Query):
    params, param_names = [2, 4, 8, 16], ("mechanisms",)


class Engine(_Query):
    params, param_names = ["convolution", "spectrum"], ("engine",)


class MeanMatching(_Query):
    """The paper's algorithm; more steps would take it too long for a quick run."""

    params, param_names = STEPS[:6:2], ("steps",)
    discretization = "mean-matching"


class DistanceToTruth:
    """Of the closed form of the Gaussian mechanism."""

    params, param_names = (STEPS[::2], [0.5, 4.0]), ("steps", "epsilon")

    def distances(self, steps, epsilon):
        """Ask at the delta that the closed form has at epsilon; mu = 1."""
        runs = [Run(steps**0.5, 1.0, steps)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the width is what is tracked
            answer = find("prvcore").epsilon(runs, gaussian_delta(epsilon, mu=1.0))
        return [abs(part - epsilon) for part in answer]

    def track_estimate(self, steps, epsilon):
        return self.distances(steps, epsilon)[1]

    def track_upper_bound(self, steps, epsilon):
        return self.distances(steps, epsilon)[2]

    track_estimate.unit = track_upper_bound.unit = "nats"


class FirstQuery:
    """A new process: imports, and plans of transforms where there are any."""

    params, param_names = [10, 1000], ("steps",)

    def timeraw_import_and_epsilon(self, steps):
        return f"""
        import prvcore
        step = prvcore.PoissonSubsampledGaussian(0.8, 1e-3)
        prvcore.eps_from_delta(step, 1e-7, counts={steps})
        """


class RunningBudget:
    """Epochs, each with noise of its own and a query after it."""

    params, param_names = [10, 100, 400], ("epochs",)
    timeout = 120

    def time_epochs(self, epochs):
        accountant = prvcore.Accountant()
        for epoch in range(epochs):
            accountant.step(
                noise_multiplier=1.1 + 1e-4 * epoch, sampling_probability=4e-3, count=250
            )
            accountant.epsilon(DELTA)

    def peakmem_epochs(self, epochs):
        self.time_epochs(epochs)
