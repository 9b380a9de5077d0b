"""A soak: very many calls of every kind, after which no more memory is taken than before (Linux).

``python -m tests.programs.soak --calls 1000000`` from a checkout.
"""

import argparse
import contextlib
import ctypes
import gc
import pickle
import resource
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

WARM_UP = 2000  # calls after which caches and heaps have their size
MOST_GROWTH = 2**22  # bytes
WINDOWS = 10


def resident():
    """Return the bytes of memory that the process has now, freed blocks given back first."""
    gc.collect()
    with contextlib.suppress(AttributeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def calls(prv):
    """Return one function of a number for each kind of call; all parameters change with it."""

    def own_q(losses):
        return 0.3 * (losses > -1.0)  # a distribution function ends at 1

    def fail(losses):
        raise LookupError

    def refused(call, *kinds):
        def ask(i):
            try:
                call(i)
            except kinds:
                return
            raise AssertionError("an answer to a nonsense question")

        return ask

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
        "own functions": refused(
            lambda i: prv.compose(prv.FromCDFs(own_q, own_q)).epsilon(1e-3), ValueError
        ),
        "functions that raise": refused(
            lambda i: prv.compose(prv.FromCDFs(fail, fail)).epsilon(1e-3), LookupError
        ),
        "stopped": refused(lambda i: shared.epsilon(1e-6, progress=stop), LookupError),
        "bad parameter": refused(lambda i: prv.Gaussian(-1.0 - i), ValueError),
        "bad delta": refused(lambda i: shared.epsilon(float("nan")), ValueError),
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
        "report": lambda i: prv.compose(prv.Gaussian(1.0 + i % 97)).epsilon(1e-5).report,
        "pickle": lambda i: pickle.loads(
            pickle.dumps(prv.compose(poisson(1.0 + i % 9, 0.01), 3))
        ).epsilon(1e-3),
        "power": lambda i: prv.compose(prv.Gaussian(3.0)).power(1e-3 * (1 + i % 900)),
    }


def main(arguments=None):
    """Call, print, and return 1 if memory grew or an answer changed."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs.soak", description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000, help="%(default)s")
    options = parser.parse_args(arguments)
    import prvcore as prv

    warnings.simplefilter("ignore", prv.AccuracyWarning)
    kinds = calls(prv)
    names = list(kinds)
    first = {name: kinds[name](7) for name in names}
    done, sizes, start = Counter(), [], time.monotonic()

    def run(begin, end):
        for i in range(begin, end):
            name = names[i % len(names)]
            kinds[name](i // len(names))
            done[name] += 1

    run(0, WARM_UP)
    before = resident()
    print(f"before: {before / 2**20:.1f} MiB resident after {WARM_UP} calls", flush=True)
    for window in range(WINDOWS):
        run(options.calls * window // WINDOWS, options.calls * (window + 1) // WINDOWS)
        sizes.append(resident())
        print(f"{sum(done.values()):9} calls: {sizes[-1] / 2**20:.1f} MiB", flush=True)
    for name, count in sorted(done.items()):
        print(f"{name:24}{count:9}")
    changed = [name for name in names if kinds[name](7) != first[name] and name != "accountant"]
    grown = sizes[-1] - before
    print(f"after: {sizes[-1] / 2**20:.1f} MiB resident, {grown / 2**10:+.0f} KiB")
    print(f"calls {sum(done.values())} in {time.monotonic() - start:.0f} s")
    print(f"answers that changed {len(changed)} {', '.join(changed)}")
    return 1 if changed or grown > MOST_GROWTH else 0


if __name__ == "__main__":
    sys.exit(main())
