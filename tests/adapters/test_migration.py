"""The tables of the page on other accountants: their calls exist, and ours have their values."""

import importlib
from types import SimpleNamespace

import pytest

import prvcore as prv
from tests.support.checkout import ROOT

if not (ROOT / "docs").is_dir():
    pytest.skip("the pages are part of the checkout", allow_module_level=True)

from tests.pages.test_migration import TABLES, ours
from tests.support import coming_from

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that are not ours

SETTING = SimpleNamespace(**coming_from.SETTING)


def library(name):
    return pytest.importorskip(name, reason=f"{name} is not installed")


def of_prv_accountant():
    prv_accountant = library("prv_accountant")
    names = {name: getattr(prv_accountant, name) for name in dir(prv_accountant)}
    names["DPSGDAccountant"] = importlib.import_module("prv_accountant.dpsgd").DPSGDAccountant
    step = prv_accountant.PoissonSubsampledGaussianMechanism(SETTING.q, SETTING.s)
    return {**names, "prvs": [step]}


def of_opacus():
    library("opacus")
    from opacus.accountants import RDPAccountant
    from opacus.accountants.utils import get_noise_multiplier
    from opacus.utils.uniform_sampler import UniformWithReplacementSampler

    accountant = RDPAccountant()
    accountant.history = [(SETTING.s, SETTING.q, SETTING.k - 1)]
    return {
        "accountant": accountant,
        "get_noise_multiplier": get_noise_multiplier,
        "UniformWithReplacementSampler": UniformWithReplacementSampler,
    }


def of_dp_accounting():
    dp_accounting = library("dp_accounting")
    from dp_accounting.pld import PLDAccountant, privacy_loss_distribution

    dp_event = dp_accounting.dp_event
    return {
        "dp_event": dp_event,
        "event": dp_event.PoissonSampledDpEvent(SETTING.q, dp_event.GaussianDpEvent(SETTING.s)),
        "PLDAccountant": PLDAccountant,
        "privacy_loss_distribution": privacy_loss_distribution,
        "calibrate_dp_mechanism": dp_accounting.calibrate_dp_mechanism,
    }


def of_jax_privacy():
    accounting = library("jax_privacy.accounting")
    from jax_privacy import batch_selection

    return {
        "accounting": accounting,
        "batch_selection": batch_selection,
        "training": accounting.DpsgdTrainingAccountant(
            dp_accountant_config=accounting.RdpAccountantConfig()
        ),
        "params": accounting.DpParams(
            noise_multipliers=SETTING.s, num_samples=SETTING.n, delta=SETTING.delta, batch_size=256
        ),
    }


def of_flower():
    serverapp = library("flwr.serverapp")
    library("dp_accounting")
    config = serverapp.PrivacyConfig(
        target_delta=SETTING.delta,
        population_size=1000,
        neighboring_relation=serverapp.NeighboringRelation.ADD_OR_REMOVE_ONE,
        sampling_method=serverapp.SamplingMethod.POISSON,
    )
    rdp = serverapp.RdpAccountant(config)
    event = serverapp.GaussianPrivacyEvent(SETTING.s, 10, 1000)
    rdp.compose(event, SETTING.k)
    return {"rdp": rdp, "GaussianPrivacyEvent": serverapp.GaussianPrivacyEvent}


def of_riskcal():
    library("riskcal")
    from riskcal import analysis, calibration

    return {name: getattr(m, name) for m in (analysis, calibration) for name in m.__all__}


NAMES = {
    "prv-accountant": of_prv_accountant,
    "Opacus": of_opacus,
    "dp-accounting": of_dp_accounting,
    "jax-privacy": of_jax_privacy,
    "Flower": of_flower,
    "riskcal": of_riskcal,
}


def number(answer):
    """Return the upper bound, the value or the number that an answer is, None if it is none."""
    if isinstance(answer, prv.Bounds):
        return answer.upper
    if isinstance(answer, prv.Calibration | prv.SweepCalibrations):
        return float(answer.value)
    if isinstance(answer, tuple) and len(answer) == 3:  # of prv-accountant
        return answer[2]
    return None if isinstance(answer, bool) else answer if isinstance(answer, int | float) else None


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_their_calls_exist_and_have_nearly_our_answers(name):
    theirs = {**coming_from.SETTING, **NAMES[name]()}
    compared = 0
    for their_call, our_call in TABLES[name]:
        found, ours_found = number(eval(their_call, theirs)), number(eval(our_call, ours()))
        if found is not None and ours_found is not None:
            # that of Renyi divergences is up to some times as large
            assert 0.7 <= found / ours_found <= 5.0, (their_call, found, ours_found)
            compared += 1
    assert compared >= 2


def test_the_table_of_events_is_that_of_the_installed_version():
    dp_accounting = library("dp_accounting")
    version = importlib.import_module("importlib.metadata").version("dp-accounting")
    if not version.startswith("0.6."):
        pytest.skip(f"the page has the events of dp-accounting 0.6, not {version}")
    from prvcore.adapters.dp_accounting import table_of_events

    assert coming_from.shown_events() == coming_from.events_as_shown(table_of_events())
    assert dp_accounting
