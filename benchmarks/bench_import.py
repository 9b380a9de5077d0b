"""What importing prvcore costs in a fresh process, over importing numpy.

`python -m benchmarks.bench_import` prints the ratios that asv tracks.
"""

import os
import statistics
import subprocess
import sys

PROCESSES = 15
PROGRAMS = {
    "python": "pass",
    "numpy": "import numpy",
    "prvcore": "import prvcore",
    "prvcore, all names": "from prvcore import *",
    "prvcore, a first curve": (
        "import prvcore as prv; prv.compose(prv.PoissonSubsampledGaussian(1.0, 1e-3), 1000)"
    ),
}


def cpu_seconds(program):
    """Return the processor time of a new process, which depends little on what else runs."""
    before = os.times()
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def over_numpy(processes=PROCESSES):
    """Return the time of each program over that of `import numpy`, Python's own start in both."""
    for program in PROGRAMS.values():  # so that all is compiled to byte code, and in memory
        cpu_seconds(program)
    # in alternation: clocks and caches change slowly
    times = [[cpu_seconds(program) for program in PROGRAMS.values()] for _ in range(processes)]
    medians = dict(zip(PROGRAMS, map(statistics.median, zip(*times, strict=True)), strict=True))
    return {name: medians[name] / medians["numpy"] for name in PROGRAMS}


class Import:
    """asv: the target is at most 1.2."""

    timeout = 300
    params = tuple(name for name in PROGRAMS if name.startswith("prvcore"))
    param_names = ("program",)

    def setup_cache(self):
        return over_numpy()

    def track_over_importing_numpy(self, ratios, program):
        return ratios[program]

    track_over_importing_numpy.unit = "times import numpy"


if __name__ == "__main__":
    for name, ratio in over_numpy().items():
        print(f"{name:24}{ratio:.2f}")
