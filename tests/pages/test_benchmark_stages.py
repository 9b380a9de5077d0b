"""The driver of the stages reads internal headers of the core, and has to follow them."""

import shutil
import subprocess
import sysconfig

import pytest

from tests.support.checkout import ROOT

DRIVER = ROOT / "benchmarks" / "stages" / "stages.c"
COMPILER = (sysconfig.get_config_var("CC") or "cc").split()[0]


@pytest.mark.skipif(not DRIVER.exists(), reason="the benchmarks are part of the checkout")
@pytest.mark.skipif(shutil.which(COMPILER) is None, reason="needs a C compiler")
def test_the_driver_of_the_stages_knows_the_core():
    command = [COMPILER, "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    command += [f"-I{ROOT / 'src_c'}", f"-I{ROOT / 'src_c' / 'include'}", str(DRIVER)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
