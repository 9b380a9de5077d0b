"""The stages of the C core, one by one: stages.c, compiled here and called by ctypes."""

import ctypes
import os
import shutil
import subprocess
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ENGINES = {"convolution": 1, "spectrum": 2}  # prv_engine of prvcore.h


def compile_stages(sources, folder):
    """Compile stages.c with the core in `sources` (a src_c); return the library's path.

    Raises
    ------
    NotImplementedError
        There is no compiler, or the core has other internal headers than stages.c knows.
    """
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        raise NotImplementedError(f"stages are left out: there is no compiler {compiler}")
    library = Path(folder) / "stages.so"
    # as setup.py compiles the core, but for its headers being seen by stages.c too
    command = [compiler, "-O3", "-std=c11", "-fno-math-errno", "-fno-trapping-math"]
    command += [
        "-ffp-contract=fast",
        "-fPIC",
        "-Werror=int-conversion",
        f"-I{sources}",
        f"-I{sources / 'include'}",
    ]
    rooms = (sources / "rooms.txt").read_text(encoding="utf-8").split()
    core = [file for room in rooms for file in (sources / room).glob("*.c")]
    files = [Path(__file__).with_name("stages.c"), *sorted(core)]
    objects = [Path(folder) / f"{file.stem}.o" for file in files]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = zip(files, objects, strict=True)
        list(pool.map(lambda job: _run([*command, "-c", job[0], "-o", job[1]]), jobs))
    _run([compiler, "-shared", "-o", library, *objects, "-lm"])
    return str(library)


def _run(command):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NotImplementedError(f"stages are left out: {done.stderr.strip()}")


class Sizes(NamedTuple):
    """What a pass is about."""

    cells: int
    points: int  # of the window of a convolution
    frequencies: int  # of a spectrum


class Stages:
    """One pass of a query for epsilon of a Poisson-subsampled Gaussian, 'remove'.

    Methods of the name of a stage run it: plan, cells, dominating, dominated, compose, transforms
    (of a convolution), evaluate.
    """

    def __init__(
        self, library, noise_multiplier, sampling_probability, count, delta, width, engine
    ):
        import prvcore
        from prvcore._core import fft_plans

        step = prvcore.PoissonSubsampledGaussian(noise_multiplier, sampling_probability)
        curve = prvcore.compose(step, count, eps_error=width, neighbors="remove", engine=engine)
        budget = curve.error_budget(delta=delta)
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        self._library = ctypes.CDLL(library)
        self._handle = ctypes.c_void_p()
        self._run(
            "new",
            ctypes.c_double(noise_multiplier),
            ctypes.c_double(sampling_probability),
            ctypes.c_uint64(count),
            ctypes.c_double(delta),
            ctypes.c_double(width),
            ctypes.c_int(ENGINES[engine]),
            ctypes.c_double(budget.tilt),
            ctypes.c_double(budget.mesh_size),
            ctypes.c_void_p(pointer(fft_plans.provider(), b"prvcore.prv_fft_provider")),
            ctypes.byref(self._handle),
        )

    def _run(self, stage, *arguments):
        status = self._library[f"stages_{stage}"](*arguments)
        if status:
            message = self._library.prv_status_message
            message.restype = ctypes.c_char_p
            raise NotImplementedError(f"{stage}: {message(status).decode()}")

    def __getattr__(self, stage):
        return lambda: self._run(stage, self._handle)

    def evaluate(self):
        """Return epsilon, without the certificate."""
        epsilon = ctypes.c_double()
        self._run("evaluate", self._handle, ctypes.byref(epsilon))
        return epsilon.value

    def sizes(self):
        """Return the numbers of cells, points of the window, and frequencies."""
        sizes = (ctypes.c_double * 3)()
        self._library.stages_sizes.restype = None
        self._library.stages_sizes(self._handle, sizes)
        return Sizes(*map(int, sizes))

    def close(self):
        """Free everything."""
        self._library.stages_free.restype = None
        self._library.stages_free(self._handle)
