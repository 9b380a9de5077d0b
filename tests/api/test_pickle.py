"""What can be pickled and copied, and what it is afterwards."""

import copy
import pickle

import pytest

import prvcore as prv
from prvcore import _pickling
from tests.support.examples import ALL, name


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("mechanism", ALL, ids=name)
def test_mechanisms(mechanism, protocol):
    again = pickle.loads(pickle.dumps(mechanism, protocol))
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    assert repr(again) == repr(mechanism)


def test_an_unpickled_table_is_read_only():
    table = prv.FromTable([0.0], [1.0])
    for again in (pickle.loads(pickle.dumps(table)), copy.copy(table), copy.deepcopy(table)):
        assert again == table
        assert not again.losses.flags.writeable
        assert not again.probabilities.flags.writeable


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"eps_error": 0.01, "neighbors": "remove"},
        {"discretization": "mean-matching", "eps_error": 0.1, "delta_error": 1e-9},
        {"mesh_size": 1e-3},
    ],
)
def test_curves(options):
    curve = prv.compose([(prv.Gaussian(30.0), 100), prv.Laplace(20.0)], **options)
    for again in (
        pickle.loads(pickle.dumps(curve)),
        copy.copy(curve),
        copy.deepcopy(curve),
    ):
        assert again == curve
        assert hash(again) == hash(curve)
        assert repr(again) == repr(curve)
        assert again.epsilon(1e-5) == curve.epsilon(1e-5)


def test_bounds_and_budgets():
    curve = prv.compose(prv.Gaussian(3.0))
    for answer in (curve.epsilon(1e-3), curve.error_budget(delta=1e-3)):
        again = pickle.loads(pickle.dumps(answer))
        assert again == answer
        assert type(again) is type(answer)


def test_curves_of_functions_that_do_not_pickle():
    curve = prv.compose(prv.FromCDFs(lambda x: x, lambda x: x))
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(curve)


def others():
    """Return one object of each other kind that is pickled with its version."""
    curve = prv.compose([(prv.Gaussian(30.0), 100), prv.Laplace(20.0)])
    accountant = prv.Accountant()
    accountant.add(prv.Gaussian(30.0), 3)
    return [
        curve,
        accountant,
        prv.explain(curve, 1e-5),
        prv.calibrate(prv.Gaussian(1.0), 10, epsilon=1.0, delta=1e-5),
    ]


@pytest.mark.parametrize("thing", [*ALL, *others()], ids=lambda thing: type(thing).__name__)
def test_pickles_of_another_version_are_refused(thing, monkeypatch):
    monkeypatch.setattr(_pickling, "VERSION", "0.0.9")
    pickled = pickle.dumps(thing)
    assert pickle.loads(pickled) == thing
    monkeypatch.undo()
    # of the thing, or of what it is made of
    message = rf"a \w+ pickled by prvcore 0\.0\.9 cannot be read by {prv.__version__}: "
    with pytest.raises(pickle.UnpicklingError, match=message):
        pickle.loads(pickled)
