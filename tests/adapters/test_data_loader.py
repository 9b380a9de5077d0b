"""The samplers of prvcore as the `batch_sampler` of a PyTorch `DataLoader`."""

import pytest

from prvcore import sampling
from tests.support.checkout import ROOT, program_of

torch = pytest.importorskip("torch", reason="torch is not installed")


def test_a_data_loader_takes_them():
    data = torch.utils.data.TensorDataset(torch.arange(40))
    batches = sampling.PoissonBatches(40, 0.05, 30, seed=2)
    loader = torch.utils.data.DataLoader(
        data, batch_sampler=batches, collate_fn=lambda rows: [int(row[0]) for row in rows]
    )
    assert len(loader) == 30
    first, second = list(loader), list(loader)
    assert [] in first  # an empty batch is a step
    assert first != second
    batches.set_epoch(0)
    assert [batch.tolist() for batch in batches] == first


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the pages are part of the checkout")
def test_the_loader_of_the_recipe_yields_empty_batches_as_steps():
    page = ROOT / "docs" / "tutorials" / "recipes.rst"
    names = {}
    exec(program_of(page, "collate_fn="), names)
    sizes = [len(x) for (x,) in names["loader"]]
    assert len(sizes) == len(names["batches"]) == 500
    assert min(sizes) == 0  # e^-2 of them; that none is has probability 1e-32
    assert names["mean"].shape == (4,)
