"""A soak: very many calls of every kind, after which no more memory is taken than before (Linux).

``python -m tests.programs.soak --calls 1000000`` from a checkout.
"""

import argparse
import contextlib
import ctypes
import gc
import io
import json
import pickle
import resource
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from tests.support.examples import gaussian_cdf_p, gaussian_cdf_q

WARM_UP = 5000  # calls after which caches and heaps have their size
MOST_GROWTH = 2**22  # bytes
WINDOWS = 40

# These take 2 to 20 ms, ten times as long as others: one call of them for ten of each other kind.
COSTLY = frozenset(
    (
        "accountant as text",
        "calibrated sample",
        "command line",
        "distribution functions",
        "explanation",
        "many deltas",
        "privacy curve",
        "renyi",
        "shuffles",
        "some of the batches",
        "sweep",
        "sweep of calibrations",
        "sweep of steps",
    )
)


def resident():
    """Return the bytes of memory that the process has now, freed blocks given back first."""
    gc.collect()
    with contextlib.suppress(AttributeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def calls(prv):
    """Return one function of a number for each kind of call; all parameters change with it."""
    return {
        **questions(prv),
        **mechanisms(prv),
        **relations(prv),
        **training(prv),
        **budgets(prv),
        **stage_by_stage(prv),
        **from_elsewhere(prv),
    }


def questions(prv):
    """Return calls of all questions of curves, errors among them."""

    def own_q(losses):
        return 0.3 * (losses > -1.0)  # a distribution function ends at 1

    def fail(losses):
        raise LookupError

    def always_refused(call, *kinds):
        return lambda i: refused(lambda: call(i), *kinds)

    def spend(epsilon):
        budget = prv.PrivacyFilter(prv.Accountant(), epsilon, 1e-5)
        allowed = [budget.allows(noise_multiplier=1.0 + i, count=2) for i in range(3)]
        budget.step(noise_multiplier=50.0)
        return allowed, budget.spent()

    def stop(progress):
        raise LookupError

    poisson = prv.PoissonSubsampledGaussian
    shared = prv.compose([(poisson(1.0, 0.01), 100), (prv.Gaussian(50.0), 10)])
    accountant = prv.Accountant()
    return {
        "Gaussian": lambda i: prv.compose(prv.Gaussian(1.0 + i % 97)).epsilon(1e-5),
        "delta": lambda i: prv.compose(prv.Gaussian(1.0 + i % 97)).delta(0.01 * (i % 89)),
        "sampled Gaussian": lambda i: prv.compose(poisson(1.0, 1e-3), 1 + i % 999).epsilon(1e-5),
        "shared curve": lambda i: shared.epsilon(10.0 ** -(1 + i % 20)),
        "convolution": lambda i: prv.compose(
            poisson(2.0, 1e-2), 5, engine="convolution", eps_error=0.1
        ).epsilon(1e-3),
        "mean-matching": lambda i: prv.compose(
            poisson(2.0, 1e-2), 1 + i % 5, discretization="mean-matching", eps_error=0.5
        ).epsilon(1e-3),
        "pure": lambda i: prv.compose(prv.PureDP(0.1 + 0.01 * (i % 53)), 1 + i % 29).epsilon(1e-4),
        "Laplace": lambda i: prv.compose(prv.Laplace(3.0 + i % 7), 2).delta(0.1),
        "table": lambda i: prv.compose(
            prv.FromTable([-0.5, 0.5], [0.3 + 1e-3 * (i % 50), 0.7 - 1e-3 * (i % 50)]), 3
        ).epsilon(1e-3),
        "mixture": lambda i: prv.compose(
            prv.GroupPoissonSubsampledGaussian(3.0, 0.01, 1 + i % 4)
        ).epsilon(1e-3),
        "own functions": always_refused(
            lambda i: prv.compose(prv.FromCDFs(own_q, own_q)).epsilon(1e-3), ValueError
        ),
        "functions that raise": always_refused(
            lambda i: prv.compose(prv.FromCDFs(fail, fail)).epsilon(1e-3), LookupError
        ),
        "stopped": always_refused(lambda i: shared.epsilon(1e-6, progress=stop), LookupError),
        "bad parameter": always_refused(lambda i: prv.Gaussian(-1.0 - i), ValueError),
        "bad delta": always_refused(lambda i: shared.epsilon(float("nan")), ValueError),
        "accountant": lambda i: accountant.step(
            noise_multiplier=1.0 + i % 3, sampling_probability=0.01
        ),
        "several on one sample": lambda i: prv.compose(
            prv.PoissonSubsampled(
                [prv.PureDP(0.1 + 0.01 * (i % 17)), prv.DiscreteLaplace(3.0)], 0.1
            ),
            1 + i % 5,
            eps_error=0.1,
        ).epsilon(1e-3),
        "allocation": lambda i: prv.compose(
            prv.RandomAllocation(prv.Gaussian(2.0 + i % 5), 2 + i % 3), eps_error=0.3
        ).epsilon(1e-2),
        "replaced records": lambda i: prv.compose(
            prv.SubsampledWithoutReplacement(prv.Laplace(2.0 + i % 5), 0.05),
            3,
            neighbors="replace-one",
            eps_error=0.1,
        ).epsilon(1e-3),
        "renyi": lambda i: prv.compose(poisson(1.0 + i % 7, 0.01), 10).renyi_divergence(
            2.0 + i % 5
        ),
        "gaussian mu": lambda i: prv.compose(prv.PureDP(0.5 + 0.1 * (i % 5)), 2).gaussian_mu(1e-3),
        "bayes risk": lambda i: prv.compose(prv.Gaussian(1.0 + i % 7)).bayes_risk(
            0.1 + 0.1 * (i % 8)
        ),
        "witness": lambda i: prv.compose(
            prv.DiscreteLaplace(1.0 + i % 9), 1 + i % 5, eps_error=0.1
        ).witness(delta=1e-3)["claim"],
        "calibration": lambda i: (
            prv.calibrate(prv.Gaussian(1.0), epsilon=1.0 + i % 3, delta=1e-5).value
        ),
        "filter": lambda i: spend(1.0 + i % 3),
        "report": lambda i: prv.compose(prv.Gaussian(1.0 + i % 97)).epsilon(1e-5).report(),
        "pickle": lambda i: pickle.loads(
            pickle.dumps(prv.compose(poisson(1.0 + i % 9, 0.01), 3))
        ).epsilon(1e-3),
        "power": lambda i: prv.compose(prv.Gaussian(3.0)).power(1e-3 * (1 + i % 900)),
        "trade-off": lambda i: prv.compose(prv.Laplace(3.0)).trade_off(1e-3 * (1 + i % 900)),
        "total variation": lambda i: prv.compose(prv.Laplace(1.0 + i % 9)).total_variation(),
        "error budget": lambda i: shared.error_budget(delta=10.0 ** -(1 + i % 9)),
        "explanation": lambda i: str(prv.explain(shared, 10.0 ** -(1 + i % 9))),
        "many deltas": lambda i: [
            part.tolist() for part in shared.epsilon([10.0 ** -(1 + i % 9), 1e-3])
        ],
        "attained": lambda i: prv.compose(prv.PureDP(0.1 * (1 + i % 9))).attained,
    }


def mechanisms(prv):
    """Return calls of the mechanisms, those of one's own among them."""
    gaussian = prv.Gaussian
    sampled = [(prv.PoissonSubsampledGaussian(2.0, 0.05), 2), (prv.Laplace(9.0), 1)]

    def epsilon(mechanism, count=1, **options):
        return prv.compose(mechanism, count, **{"eps_error": 0.3, **options}).epsilon(1e-2)

    def hockey_stick(losses):
        remove = 0.25 * -np.expm1(np.minimum(losses - 1.0, 0.0))
        return np.maximum(-np.expm1(np.minimum(losses, 0.0)), remove)

    return {
        "approximate": lambda i: epsilon(prv.ApproximateDP(0.1 + 0.01 * (i % 9), 1e-9), 3),
        "bounded range": lambda i: epsilon(prv.BoundedRange(0.1 + 0.01 * (i % 53)), 1 + i % 9),
        "randomized response": lambda i: epsilon(
            prv.RandomizedResponse(0.5, 2 + i % 9), 4, neighbors="replace-one"
        ),
        "discrete Gaussian": lambda i: epsilon(prv.DiscreteGaussian(5.0 + i % 7, 1 + i % 3), 2),
        "mixture of Gaussians": lambda i: epsilon(
            prv.MixtureOfGaussians(2.0 + i % 3, [0.0, 1.0, 2.0], [0.7, 0.2, 0.1])
        ),
        "a count beside": lambda i: epsilon(
            prv.PoissonSubsampled([gaussian(1.0 + i % 5), prv.NoisyCount(9.0, True)], 0.01), 9
        ),
        "truncated batches": lambda i: epsilon(
            prv.TruncatedPoissonSubsampledGaussian(2.0, 0.01, 1000, 30 + i % 9), 2
        ),
        "groups in fixed batches": lambda i: epsilon(
            prv.GroupSubsampledWithoutReplacementGaussian(3.0 + i % 5, 100, 5, 2)
        ),
        "balls in bins": lambda i: epsilon(prv.BallsInBins(gaussian(3.0 + i % 3), 4, 1 + i % 2)),
        "some of the batches": lambda i: epsilon(
            prv.RandomAllocation(gaussian(3.0 + i % 3), 4, 1 + i % 2)
        ),
        "nested": lambda i: epsilon(
            prv.PoissonSubsampled(
                prv.compose([(gaussian(3.0 + i % 5), 2), (prv.Laplace(5.0), 1)]).as_mechanism(),
                0.1,
            ),
            2,
        ),
        "nested samples": lambda i: epsilon(
            prv.PoissonSubsampled(prv.PoissonSubsampled(prv.Laplace(2.0), 0.5), 0.02 * (1 + i % 9))
        ),
        "distribution functions": lambda i: epsilon(
            prv.FromCDFs(gaussian_cdf_q, gaussian_cdf_p), 1 + i % 4
        ),
        "privacy curve": lambda i: epsilon(prv.FromPrivacyCurve(hockey_stick), 1 + i % 3),
        "several kinds": lambda i: epsilon([*sampled, (prv.PureDP(0.01 * (1 + i % 9)), 2)], None),
        "a bad composition": lambda i: refused(
            lambda: prv.PoissonSubsampled(gaussian(1.0), 1.5 + i), ValueError
        ),
    }


def relations(prv):
    """Return calls under each relation of neighbours."""
    sampled = prv.PoissonSubsampledGaussian(1.0, 0.05)

    def ask(neighbors):
        return lambda i: prv.compose(
            [(sampled, 1 + i % 9), (prv.Laplace(3.0 + i % 5), 1)],
            eps_error=0.1,
            neighbors=neighbors,
        ).epsilon(1e-3)

    def table(neighbors, asked):
        return lambda i: prv.compose(
            prv.FromTable([-0.5, 0.0, 0.5], [0.2, 0.4, 0.4], neighbors=neighbors, attained=False),
            1 + i % 9,
            neighbors=asked,
        ).epsilon(1e-3)

    return {
        "added": ask("add"),
        "removed": ask("remove"),
        "replaced": ask("replace-one"),
        "a table of replaced records": table("replace-one", "replace-one"),
        "a table of any neighbours": table("any", "remove"),
        "refused relation": lambda i: refused(
            lambda: table("replace-one", "add")(i), ValueError, TypeError
        ),
    }


def training(prv):
    """Return calls of DP-SGD: sweeps, calibrations, plans, shuffles and batches."""
    from prvcore import sampling

    def sweep(i):
        return [
            part.tolist()
            for part in prv.dpsgd_epsilon(
                noise_multiplier=[1.0, 1.5 + i % 3],
                sampling_probability=0.01,
                steps=[10, 10 + i % 50],
                delta=1e-5,
                eps_error=0.1,
            )
        ]

    def deltas(i):
        return prv.dpsgd_delta(
            noise_multiplier=[2.0],
            sampling_probability=0.01,
            steps=10,
            epsilon=0.1 + 0.01 * (i % 7),
            workers=2 if i % 100 == 0 else 1,
        ).upper.tolist()

    def noises(i):
        found = prv.dpsgd_noise_multiplier(
            sampling_probability=0.01, steps=[5 + i % 5], epsilon=1.0, delta=1e-3, tolerance=0.05
        )
        return found.value.tolist()

    def steps(i):
        found = prv.dpsgd_steps(
            noise_multiplier=[2.0 + i % 3], sampling_probability=0.02, epsilon=1.0, delta=1e-3
        )
        return found.value.tolist()

    def batches(i):
        drawn = [
            sampling.PoissonBatches(100, 0.1, 5, seed=i),
            sampling.FixedSizeBatches(100, 10, 5, seed=i),
            sampling.BallsInBinsBatches(100, 5, seed=i),
            sampling.RandomAllocationBatches(100, 5, seed=i),
        ]
        return [batch.tolist() for kind in drawn for batch in kind]

    return {
        "sweep": sweep,
        "sweep of deltas": deltas,
        "sweep of calibrations": noises,
        "sweep of steps": steps,
        "calibrated risk": lambda i: (
            prv.calibrate(prv.Gaussian(1.0), advantage=0.1 + 0.01 * (i % 9)).value
        ),
        "calibrated sample": lambda i: (
            prv.calibrate(
                prv.PoissonSubsampledGaussian(1.0 + i % 3, 0.01),
                5,
                epsilon=1.0,
                delta=1e-3,
                parameter="sampling_probability",
                tolerance=0.05,
            ).value
        ),
        "training plan": lambda i: (
            prv.dpsgd_schedule(1000 + i % 99, 50, 1, sampler="fixed-size").steps
        ),
        "adaptive clipping": lambda i: prv.adaptive_clipping_noise(
            1.0, 10.0 + i % 9, centred=bool(i % 2)
        ),
        "shuffles": lambda i: prv.shuffled_lower_bound(1.0 + i % 3, 10 + i % 9, delta=1e-5),
        "batches": batches,
    }


def budgets(prv):
    """Return calls of running budgets."""

    def account(i):
        accountant = prv.Accountant(eps_error=0.1)
        accountant.step(noise_multiplier=2.0 + i % 3, sampling_probability=0.01, count=5)
        accountant.add(prv.Laplace(9.0), 1 + i % 4)
        again = prv.Accountant.from_json(accountant.to_json())
        again.copy().step(noise_multiplier=1.0)
        return again.epsilon(1e-3), again.history, again.steps

    def odometer(i):
        read = prv.PrivacyOdometer(accountant := prv.Accountant(eps_error=0.3), 1e-5, readings=3)
        accountant.step(noise_multiplier=9.0 + i % 9)
        return read.read().epsilon

    def overspent(i):
        budget = prv.PrivacyFilter(prv.Accountant(), 0.1, 1e-6, adaptive=bool(i % 2))
        refused(lambda: budget.step(noise_multiplier=1.0), prv.BudgetExceededError)
        return budget.remaining_steps(noise_multiplier=90.0 + i % 9)

    return {"accountant as text": account, "odometer": odometer, "overspent": overspent}


def stage_by_stage(prv):
    """Return calls of the stages."""
    from prvcore import stages

    index = np.arange(-80, 81)

    def convolved(i):
        mesh = stages.Mesh(index, 0.125)
        found = stages.cells(prv.Gaussian(1.0 + i % 5), mesh.losses)
        window = stages.Window(
            lowest=-8.0, length=256, shift_down=2.0, shift_up=2.0, high_epsilon=4.0
        )
        lattice = stages.dominating(found, mesh)
        return stages.convolve(lattice, 3, window, tilt=1.0).epsilon(1e-3)

    def planned(i):
        found = stages.plan(
            prv.Gaussian(1.0 + i % 5), 3, delta=1e-5, tilt=2.0, mesh_size=0.01, eps_error=0.1
        )
        return found.window.length

    return {"stages": convolved, "plan of stages": planned}


def from_elsewhere(prv):
    """Return calls with texts: schedules, hostile ones among them, and the command line."""
    from prvcore import _cli

    def schedule(i):
        steps = [
            {"type": "Gaussian", "noise_multiplier": 5.0 + i % 7, "count": 2},
            {"type": "Laplace", "scale": 5.0, "count": 1 + i % 3},
        ]
        text = json.dumps({"steps": steps}).encode()
        return prv.compose(prv.read_schedule(io.BytesIO(text))).epsilon(1e-3)

    def hostile(i):
        text = json.dumps({"steps": [{"type": "x" * (i % 999), "count": -i}]})
        refused(lambda: prv.read_schedule(io.BytesIO(text.encode())), ValueError, TypeError)

    def command(*words):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            assert _cli.main([str(word) for word in words]) == 0
        return out.getvalue()

    return {
        "schedule": schedule,
        "hostile schedule": hostile,
        "command line": lambda i: command(
            *(
                "epsilon",
                "--noise-multiplier",
                1 + i % 9,
                "--sampling-probability",
                1,
                "--steps",
                2,
            ),
            *("--delta", 1e-5),
        ),
    }


def refused(call, *kinds):
    """Call, which must raise."""
    try:
        call()
    except kinds:
        return
    raise AssertionError("an answer to a nonsense question")


def main(arguments=None):
    """Call, print, and return 1 if memory grew or an answer changed."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs.soak", description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000, help="%(default)s")
    parser.add_argument("--minutes", type=float, help="no more calls after these")
    options = parser.parse_args(arguments)
    import prvcore as prv

    warnings.simplefilter("ignore", prv.AccuracyWarning)
    kinds = calls(prv)
    costly = sorted(COSTLY)
    assert kinds.keys() > COSTLY
    common = [name for name in kinds if name not in COSTLY]
    names = [name for i in range(10) for name in common + costly[i::10]]
    first = {name: kinds[name](7) for name in kinds}
    done, sizes, start = Counter(), [], time.monotonic()

    def run(begin, end):
        for i in range(begin, end):
            name = names[i % len(names)]
            kinds[name](done[name])
            done[name] += 1

    run(0, WARM_UP)
    before = resident()
    print(f"before: {before / 2**20:.2f} MiB resident after {WARM_UP} calls", flush=True)
    for window in range(WINDOWS):
        run(options.calls * window // WINDOWS, options.calls * (window + 1) // WINDOWS)
        sizes.append(resident())
        print(f"{sum(done.values()):9} calls: {sizes[-1] / 2**20:.2f} MiB", flush=True)
        if options.minutes is not None and time.monotonic() - start > 60.0 * options.minutes:
            break
    for name, count in sorted(done.items()):
        print(f"{name:24}{count:9}")
    changed = [name for name in kinds if kinds[name](7) != first[name] and name != "accountant"]
    grown = sizes[-1] - before
    print(f"after: {sizes[-1] / 2**20:.2f} MiB resident, {grown / 2**10:+.0f} KiB")
    print(f"calls {sum(done.values())} in {time.monotonic() - start:.0f} s")
    print(f"answers that changed {len(changed)} {', '.join(changed)}")
    return 1 if changed or grown > MOST_GROWTH else 0


if __name__ == "__main__":
    sys.exit(main())
