"""jax-privacy calibrates with the accountant of the dp-accounting adapter."""

import pytest

import prvcore as prv

accounting = pytest.importorskip("jax_privacy.accounting", reason="jax-privacy is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of jax and jax-privacy, which are not ours

DELTA, SAMPLES, BATCH, UPDATES = 1e-5, 60_000, 256, 1000


@pytest.fixture(scope="module")
def training():
    from prvcore.adapters.dp_accounting import PRVCoreAccountant

    class Config(accounting.DpAccountantConfig):
        def create_accountant(self):
            return PRVCoreAccountant()

    return accounting.DpsgdTrainingAccountant(dp_accountant_config=Config())


def test_its_noise_is_that_of_our_own_calibration(training):
    noise = accounting.calibrate_noise_multiplier(
        target_epsilon=2.0,
        accountant=training,
        batch_sizes=BATCH,
        num_updates=UPDATES,
        num_samples=SAMPLES,
        target_delta=DELTA,
        tol=1e-4,
    )
    lower, _, upper = prv.dpsgd_epsilon(noise, BATCH / SAMPLES, UPDATES, DELTA)
    assert upper <= 2.0
    assert lower >= 1.99
    ours = prv.dpsgd_noise_multiplier(BATCH / SAMPLES, UPDATES, 2.0, DELTA).value
    assert ours <= noise + 1e-4
    assert noise <= ours + 3e-3


def test_its_epsilon_is_between_our_bounds_and_below_that_of_its_own(training):
    params = accounting.DpParams(
        noise_multipliers=1.1, num_samples=SAMPLES, delta=DELTA, batch_size=BATCH
    )
    found = training.compute_epsilon(UPDATES, params)
    assert found == prv.dpsgd_epsilon(1.1, BATCH / SAMPLES, UPDATES, DELTA).upper
    theirs = accounting.DpsgdTrainingAccountant(
        dp_accountant_config=accounting.PldAccountantConfig()
    ).compute_epsilon(UPDATES, params)
    assert prv.dpsgd_epsilon(1.1, BATCH / SAMPLES, UPDATES, DELTA).lower <= theirs + 1e-9
    assert theirs <= found * 1.02


def test_schedules_of_noise_and_batches_are_composed(training):
    params = accounting.DpParams(
        noise_multipliers=[(0, 1.0), (400, 1.2)], num_samples=SAMPLES, delta=DELTA, batch_size=BATCH
    )
    steps = [
        (prv.PoissonSubsampledGaussian(1.0, BATCH / SAMPLES), 400),
        (prv.PoissonSubsampledGaussian(1.2, BATCH / SAMPLES), 600),
    ]
    lower, _, upper = prv.compose(steps).epsilon(DELTA)
    assert lower <= training.compute_epsilon(UPDATES, params) <= upper * 1.001


def test_an_execution_plan_is_calibrated_with_it():
    """Versions differ in how: an accountant, or an `accountant_fn` that makes one of a relation."""
    dp_accounting = pytest.importorskip("dp_accounting")
    from prvcore.adapters.dp_accounting import PRVCoreAccountant

    relation = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    try:
        from jax_privacy import execution_plan

        config = execution_plan.BandMFConfig.default(
            num_bands=1, iterations=100, expected_participations=10
        ).calibrate(epsilon=1.0, delta=DELTA, accountant_fn=PRVCoreAccountant)
        event = config.make().dp_event
    except ImportError:
        from jax_privacy.batch_selection import PartitionType
        from jax_privacy.experimental import execution_plan

        config = execution_plan.BandMFExecutionPlanConfig(
            iterations=100,
            strategy=[1.0],
            epsilon=1.0,
            delta=DELTA,
            sampling_prob=0.1,
            partition_type=PartitionType.INDEPENDENT,
            accountant=PRVCoreAccountant(relation),
        )
        event = config.plan.dp_event
    lower, _, upper = PRVCoreAccountant(relation).compose(event).bounds(DELTA)
    assert upper <= 1.0
    assert lower >= 0.97
