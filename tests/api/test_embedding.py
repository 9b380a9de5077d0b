"""The package of the tutorial that links the library from Cython: built, and asked."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import prvcore as prv
from tests.support.checkout import ROOT

ASK = """
import json
from threading import Thread

from dp_epsilon import epsilon

def refusal(*arguments):
    try:
        return epsilon(*arguments)
    except (OverflowError, TypeError, ValueError) as error:
        return type(error).__name__

found = []
threads = [Thread(target=lambda: found.append(epsilon(0.8, 1e-3, 1000, 1e-7))) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
wrong = [(-1.0, 1e-3, 1000), (0.8, 1.5, 1000), (0.8, 1e-3, 10.5), (0.8, 1e-3, -1)]
print(json.dumps([found, [refusal(*of, 1e-7) for of in wrong]]))
"""


@pytest.mark.slow
def test_the_package_in_cython_answers_as_prvcore_does(tmp_path):
    pytest.importorskip("Cython")
    pytest.importorskip("setuptools")
    package = tmp_path / "package"
    shutil.copytree(ROOT / "src_c" / "examples" / "cython", package)
    environment = {**os.environ, "PYTHONPATH": str(Path(prv.__file__).parents[1])}

    def python(*arguments):
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, cwd=package, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    python("setup.py", "-q", "build_ext", "--inplace")
    answers, refusals = json.loads(python("-c", ASK))
    step = prv.PoissonSubsampledGaussian(0.8, 1e-3)
    lower, _, upper = prv.compose(step, 1000, neighbors="remove").epsilon(1e-7)
    assert len(answers) == 4
    for low, high in answers:  # by the library's own transforms, which round otherwise
        assert low <= upper
        assert lower <= high
        assert high - low <= 1e-3 * high
    assert refusals == ["ValueError", "ValueError", "TypeError", "OverflowError"]
