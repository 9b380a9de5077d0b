"""Time prvcore against its peers in one run, on one thread.

Every call makes a new mechanism with a noise multiplier never used before, so no cache of answers
helps anyone; imports, plans and page faults are paid in a first call that is not counted.
"""

import os
import statistics
import sys
import time
from pathlib import Path

STEP = {"noise_multiplier": 0.8, "sampling_probability": 1e-3}
DELTA, DELTA_ERROR = 1e-7, 1e-10
TRUTH = {1_000: 0.703708838718, 100_000: 3.2262289703152351}  # 'remove', the larger direction

PRV_ACCOUNTANT = ("prv_accountant", {"width": 0.02, "delta_error": DELTA_ERROR})
MEAN_MATCHING = {
    "discretization": "mean-matching",
    "eps_error": 0.01,
    "delta_error": DELTA_ERROR,
}

# What is compared, steps, the peer with its settings, the settings of prvcore.compose.
COMPARISONS = [
    (
        "a: same guaranteed width (prv-accountant's eps_error is half of it)",
        1_000,
        PRV_ACCOUNTANT,
        [{"eps_error": 0.02}, {"eps_error": 0.02, "neighbors": "remove"}],
    ),
    (
        "b: as far above the truth as dp-accounting may be, and a lower bound too",
        1_000,
        ("dp_accounting", {"interval": 1e-3}),
        [{"eps_error": 1e-3}],
    ),
    ("c: as a, many steps", 100_000, PRV_ACCOUNTANT, [{"eps_error": 0.02}]),
    ("c: defaults, many steps", 100_000, ("dp_accounting", {"interval": 1e-4}), [{}]),
    (
        "d: same algorithm, mesh and window",
        1_000,
        PRV_ACCOUNTANT,
        [MEAN_MATCHING, MEAN_MATCHING | {"neighbors": "remove"}],
    ),
]


def main():
    """Pin, measure, print."""
    use_one_thread()
    sys.path.append(str(Path(__file__).resolve().parent.parent))  # last: installed packages win
    from benchmarks.accountants import accountant

    wall, cpu = time.perf_counter(), time.process_time()
    print(f"Poisson-subsampled Gaussian {STEP}, delta {DELTA:g}; epsilon in nats, time in ms\n")
    print(
        f"{'':62} {'median':>9} {'speed':>7} {'x FFTs':>7}"
        f" {'lower':>9} {'estimate':>9} {'upper':>9} {'width':>8} {'up-truth':>8}"
    )
    for title, steps, (peer, settings), prvcore_settings in COMPARISONS:
        print(f"{title}; {steps} steps, truth {TRUTH[steps]:.6f}")
        peer_seconds = None
        try:
            ask_peer = accountant(peer)
        except NotImplementedError as error:
            print(f"  {error}")
        else:
            peer_seconds, bounds = measure(
                lambda noise, ask=ask_peer, steps=steps, settings=settings: ask(
                    noise, STEP["sampling_probability"], steps, DELTA, **settings
                )
            )
            print_row(describe(peer, settings), steps, peer_seconds, bounds)
        try:
            accountant("prvcore")
        except NotImplementedError as error:
            print(f"  {error}")
            continue
        for options in prvcore_settings:
            seconds, bounds = measure(
                lambda noise, steps=steps, options=options: compose(noise, steps, options).epsilon(
                    DELTA
                )
            )
            length = transform_length(compose(STEP["noise_multiplier"], steps, options))
            print_row(
                describe("prvcore", options),
                steps,
                seconds,
                bounds,
                speed=peer_seconds and peer_seconds / seconds,
                ffts=length and seconds / fft_seconds(length),
            )
    share = (time.process_time() - cpu) / (time.perf_counter() - wall)
    print("\nspeed: the peer's time / prvcore's; x FFTs: time / that of 2 r2c and 2 c2r transforms")
    print(f"share of the core had: {share:.0%}" + (" (others ran: repeat)" if share < 0.95 else ""))


def use_one_thread():
    """Pin to one core where that can be done; to be called before numpy is imported."""
    for library in ("OMP", "OPENBLAS", "MKL", "RAYON"):
        os.environ[f"{library}_NUM_THREADS"] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def measure(ask, *, least_calls=3, most_calls=100, enough_seconds=1.0):
    """Time `ask` of ever new noise multipliers.

    Returns
    -------
    seconds : float
        Median of the calls after the first.
    bounds : tuple
        Last answer.
    """
    seconds = []
    for call in range(most_calls + 1):
        noise_multiplier = STEP["noise_multiplier"] * (1 + 1e-12 * call)
        start = time.perf_counter()
        bounds = ask(noise_multiplier)
        seconds.append(time.perf_counter() - start)
        if call >= least_calls and sum(seconds[1:]) > enough_seconds:
            break
    return statistics.median(seconds[1:]), tuple(bounds)


def compose(noise_multiplier, steps, options):
    """Compose prvcore's mechanism anew."""
    import prvcore

    step = prvcore.PoissonSubsampledGaussian(
        noise_multiplier=noise_multiplier, sampling_probability=STEP["sampling_probability"]
    )
    return prvcore.compose(step, steps, **options)


def transform_length(curve):
    """Ask a curve for the length of the transforms that answered; None if it made or tells none."""
    error_budget = getattr(curve, "error_budget", None)
    return error_budget and getattr(error_budget(delta=DELTA), "transform_length", None)


def fft_seconds(length):
    """Time two forward and two inverse real transforms of `length`, plans made beforehand."""
    import numpy as np
    import pyfftw

    real = pyfftw.zeros_aligned(length, dtype=np.float64)
    spectrum = pyfftw.zeros_aligned(length // 2 + 1, dtype=np.complex128)
    plan = {"flags": ("FFTW_ESTIMATE",), "threads": 1}
    forward = pyfftw.FFTW(real, spectrum, **plan)
    inverse = pyfftw.FFTW(spectrum, real, direction="FFTW_BACKWARD", **plan)
    seconds = []
    for _ in range(50):
        start = time.perf_counter()
        for transform in (forward, forward, inverse, inverse):
            transform.execute()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def describe(implementation, settings):
    """Name an implementation and its settings in one line."""
    names = {"discretization": "", "neighbors": "", "width": "width="}
    words = (f"{names.get(name, name + '=')}{value}" for name, value in settings.items())
    return " ".join(["  " + implementation, *words]) if settings else f"  {implementation} defaults"


def print_row(name, steps, seconds, bounds, *, speed=None, ffts=None):
    """Print one line of the table; bounds that miss the truth are called WRONG."""
    lower, estimate, upper = bounds
    truth = TRUTH[steps]
    wrong = "  WRONG" if lower > truth or upper < truth else ""
    speed = "-" if speed is None else f"{speed:.1f}"
    ffts = "-" if ffts is None else f"{ffts:.1f}"
    print(
        f"{name:62} {1e3 * seconds:9.2f} {speed:>7} {ffts:>7}"
        f" {lower:9.6f} {estimate:9.6f} {upper:9.6f} {upper - lower:8.1e} {upper - truth:8.1e}"
        f"{wrong}",
        flush=True,
    )


if __name__ == "__main__":
    main()
