"""Sweeps on a Dask cluster have the bits of sweeps here."""

import subprocess
import sys

import numpy as np
import pytest

import prvcore as prv
from tests.support.checkout import ROOT, program_of

distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the pages are part of the checkout")
def test_the_cluster_of_the_tutorial_gives_the_same_bits(tmp_path):
    program = tmp_path / "sweep.py"
    page = ROOT / "docs" / "tutorials" / "dpsgd.rst"
    program.write_text(program_of(page, "LocalCluster"), encoding="utf-8")
    found = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, cwd=tmp_path
    )
    assert found.stdout == "True True\n", found.stderr


@pytest.mark.filterwarnings("ignore")  # of the cluster, which is not ours
def test_a_dask_cluster_gives_the_same_bits(tmp_path):
    settings = ([0.7, 1.0, 2.5], [[1e-3], [2e-2]], [3, 900, 20_000], 1e-6)
    here = prv.dpsgd_epsilon(*settings, workers=1)
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            local_directory=str(tmp_path),
        ) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
    ):
        there = prv.dpsgd_epsilon(*settings, executor=executor)
    for ours, theirs in zip(here, there, strict=True):
        assert np.array_equal(ours, theirs)
