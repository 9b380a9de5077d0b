"""Opacus's accountant interface: numbers, state, calibration, the tutorial's training."""

import copy

import pytest

import prvcore as prv
from prvcore._outward import UP, formatted
from tests.support.checkout import ROOT, program_of

pytest.importorskip("opacus", reason="opacus is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of torch and opacus, which are not ours

DELTA = 1e-5
RUNS = [(1.1, 0.01, 400), (0.9, 0.01, 300), (1.1, 0.01, 100)]


@pytest.fixture
def accountant():
    from prvcore.adapters.opacus import OpacusAccountant

    accountant = OpacusAccountant()
    for noise_multiplier, sample_rate, steps in RUNS:
        for _ in range(steps):
            accountant.step(noise_multiplier=noise_multiplier, sample_rate=sample_rate)
    return accountant


def test_epsilon_is_the_upper_bound_of_all_steps(accountant):
    steps = [
        (prv.PoissonSubsampledGaussian(1.1, 0.01), 500),
        (prv.PoissonSubsampledGaussian(0.9, 0.01), 300),
    ]
    assert accountant.history == RUNS
    assert len(accountant) == 800
    assert accountant.get_epsilon(DELTA) == prv.compose(steps).epsilon(DELTA).upper
    assert accountant.bounds(DELTA, neighbors="remove") == (
        prv.compose(steps, neighbors="remove").epsilon(DELTA)
    )


def test_it_agrees_with_the_accountant_of_opacus(accountant):
    from opacus.accountants import PRVAccountant

    theirs = PRVAccountant()
    theirs.history = list(accountant.history)
    error = 0.01
    upper = theirs.get_epsilon(DELTA, eps_error=error)  # within 2 * error of the exact value
    lower, _, ours = accountant.bounds(DELTA, neighbors="remove")
    assert lower <= upper
    assert ours <= upper + 1e-3
    assert upper - 2 * error <= ours


def test_its_state_is_saved_and_loaded(accountant):
    from prvcore.adapters.opacus import OpacusAccountant

    state = copy.deepcopy(accountant.state_dict())
    other = OpacusAccountant()
    other.load_state_dict(state)
    assert other.get_epsilon(DELTA) == accountant.get_epsilon(DELTA)


def test_opacus_calibrates_with_it():
    from opacus.accountants.utils import get_noise_multiplier

    import prvcore.adapters.opacus  # noqa: F401

    noise = get_noise_multiplier(
        target_epsilon=2.0,
        target_delta=DELTA,
        sample_rate=0.01,
        steps=1000,
        accountant="prvcore",
        epsilon_tolerance=0.01,
    )
    lower, _, upper = prv.dpsgd_epsilon(noise, 0.01, 1000, DELTA)
    assert upper <= 2.0
    assert lower >= 2.0 - 0.01 - 2e-3


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the pages are part of the checkout")
def test_the_training_of_the_tutorial_reports_epsilon_after_each_epoch(capsys):
    page = ROOT / "docs" / "tutorials" / "running.rst"
    exec(program_of(page, "from opacus import PrivacyEngine"), {})
    reported = capsys.readouterr().out.splitlines()
    assert len(reported) == 3
    for epoch, line in enumerate(reported, start=1):
        spent = formatted(prv.dpsgd_epsilon(1.1, 100 / 2000, 20 * epoch, 1e-5).upper, ".3f", UP)
        assert line == f"epoch {epoch}: epsilon {spent}"
        assert f" {spent} after" in page.read_text("utf-8")


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize(("size", "batch"), [(1000, 256), (93, 1), (100, 10), (7, 7)])
def test_schedules_are_those_of_its_loader(size, batch, drop_last):
    import torch
    from opacus.data_loader import DPDataLoader
    from torch.utils.data import DataLoader, TensorDataset

    records = TensorDataset(torch.zeros(size, 1))
    loader = DataLoader(records, batch_size=batch, drop_last=drop_last)
    poisson = DPDataLoader.from_data_loader(loader)
    plan = prv.dpsgd_schedule(size, batch, 1, loader="opacus", drop_last=drop_last)
    assert plan.sampling_probability == poisson.sample_rate
    assert plan.steps == sum(1 for _ in poisson)


@pytest.mark.parametrize("sample_rate", [1.2, -0.1, float("nan")])
def test_rates_that_are_no_probabilities_are_refused_at_once(accountant, sample_rate):
    steps = len(accountant)
    with pytest.raises(ValueError, match=r"sample_rate must be in \[0, 1\]"):
        accountant.step(noise_multiplier=1.0, sample_rate=sample_rate)
    assert len(accountant) == steps


def trained(clipping, **options):
    """Return an engine with this accountant, a small model that has gradients, its optimizer."""
    import torch
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    import prvcore.adapters.opacus  # noqa: F401

    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    records = TensorDataset(torch.randn(64, 3), torch.randn(64, 1))
    engine = PrivacyEngine(accountant="prvcore")
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=DataLoader(records, batch_size=16),
        noise_multiplier=1.1,
        max_grad_norm=1.0,
        clipping=clipping,
        **options,
    )
    (features, targets), *_ = loader
    torch.nn.functional.mse_loss(model(features), targets).backward()
    return engine, model, optimizer


def test_a_step_of_fixed_clipping_is_recorded():
    engine, _, optimizer = trained("flat")
    optimizer.step()
    assert engine.accountant.history == [(1.1, 0.25, 1)]


def test_a_step_of_adaptive_clipping_is_refused_before_it_shows_anything():
    engine, model, optimizer = trained(
        "adaptive",
        target_unclipped_quantile=0.5,
        clipbound_learning_rate=0.2,
        max_clipbound=10.0,
        min_clipbound=0.1,
        unclipped_num_std=0.8,
    )
    before = [parameter.detach().clone() for parameter in model.parameters()]
    with pytest.raises(ValueError, match='clipping must not be "adaptive"'):
        optimizer.step()
    assert all((old == new).all() for old, new in zip(before, model.parameters(), strict=True))
    assert optimizer.max_grad_norm == 1.0
    assert engine.accountant.history == []
