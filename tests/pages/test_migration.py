"""The tables of the page on other accountants: each of our calls answers."""

import pytest

import prvcore as prv
from prvcore import sampling
from tests.support.checkout import ROOT

if not (ROOT / "docs").is_dir():
    pytest.skip("the pages are part of the checkout", allow_module_level=True)

from tests.support import coming_from

TABLES = coming_from.tables()
LIBRARIES = ["prv-accountant", "Opacus", "dp-accounting", "jax-privacy", "Flower", "riskcal"]


def ours():
    """Return the names that our calls use."""
    names = {name: getattr(prv, name) for name in prv.__all__}
    s, q, k = (coming_from.SETTING[name] for name in "sqk")
    step = prv.PoissonSubsampledGaussian(s, q)
    return {
        **names,
        **coming_from.SETTING,
        "sampling": sampling,
        "step": step,
        "accountant": [(s, q, k)],
    }


def test_each_library_has_a_table():
    assert [name for name in TABLES if TABLES[name]] == LIBRARIES
    assert all(len(TABLES[name]) >= 4 for name in LIBRARIES)


@pytest.mark.parametrize(
    "call", [call for rows in TABLES.values() for _, call in rows], ids=lambda call: call[:60]
)
def test_our_calls_answer(call):
    found = eval(call, ours())
    if isinstance(found, prv.Bounds):
        assert 0.0 <= found.lower <= found.upper
