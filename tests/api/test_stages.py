"""What `prvcore.stages` says of bad arguments, and that its objects are safe to share."""

import copy
import math
import pickle
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import prvcore as prv
from prvcore import stages

GAUSSIAN = prv.Gaussian(1.0)
MESH = stages.Mesh(np.arange(-80, 81), 0.125)
CELLS = stages.cells(GAUSSIAN, MESH.losses)
LATTICE = stages.dominating(CELLS, MESH)
WINDOW = stages.Window(lowest=-8.0, length=256, shift_down=2.0, shift_up=2.0, high_epsilon=4.0)
COMPOSED = stages.convolve(LATTICE, 3, WINDOW, tilt=1.0)
PLAN = {"delta": 1e-5, "tilt": 2.0, "mesh_size": 0.01, "eps_error": 0.1}


def planned(**changes):
    return stages.plan(GAUSSIAN, 3, **{**PLAN, **changes})


def curve_alone():
    return prv.FromPrivacyCurve(lambda e: np.maximum(0.0, 0.25 * -np.expm1(e - 1.0)))


BAD = [
    (lambda: stages.cells(3, [0, 1]), TypeError, "mechanism must be a mechanism, got 3"),
    (
        lambda: stages.cells(GAUSSIAN, [0.0]),
        ValueError,
        "knots must have at least 2 entries, got 1",
    ),
    (
        lambda: stages.cells(GAUSSIAN, [0.0, 1.0, 1.0]),
        ValueError,
        (
            "knots must be strictly increasing, each at most 100 above the one before, got 1.0 "
            "before 1.0 at index 2"
        ),
    ),
    (lambda: stages.cells(GAUSSIAN, [0.0, 200.0]), ValueError, "got 0.0 before 200.0 at index 1"),
    (lambda: stages.cells(GAUSSIAN, [0.0, np.nan]), ValueError, "knots must be finite, got nan"),
    (lambda: stages.cells(GAUSSIAN, ["a"]), TypeError, "knots must be real numbers, got ['a']"),
    (
        lambda: stages.cells(GAUSSIAN, [0, 1], direction="both"),
        ValueError,
        "direction must be one of 'remove', 'add', got 'both'",
    ),
    (
        lambda: stages.cells(GAUSSIAN, [0, 1], side="upper"),
        ValueError,
        "side must be one of 'dominating', 'dominated', got 'upper'",
    ),
    (lambda: stages.Mesh([0, 2, 1], 1.0), ValueError, "index must be strictly increasing, got 2"),
    (lambda: stages.Mesh([0], 1.0), ValueError, "index must have at least 2 entries, got 1"),
    (lambda: stages.Mesh([0, 2**53], 1.0), ValueError, "got 9007199254740992"),
    (lambda: stages.Mesh([0.5, 1.0], 1.0), ValueError, "index must be integers in"),
    (lambda: stages.Mesh([0, 1], 0.0), ValueError, "spacing must be finite and > 0, got 0.0"),
    (lambda: stages.Mesh([0, 1], 1.0, offset=np.inf), ValueError, "offset must be finite, got inf"),
    (lambda: stages.Mesh([0, 1], 1.0, positions=[0]), ValueError, "positions must have one entry"),
    (lambda: stages.Mesh([0, 1], 1.0, tilt=-1.0), ValueError, "tilt must be finite and >= 0, got"),
    (
        lambda: stages.dominating(CELLS, stages.Mesh([-80, 80], 0.125)),
        ValueError,
        (
            "mesh.positions must begin with 0 and end with 160, the outermost knots of cells, got "
            "0 and 1"
        ),
    ),
    (
        lambda: stages.dominated(CELLS, stages.Mesh(np.arange(-80, 81), 0.25)),
        ValueError,
        "mesh.losses must be knots of cells, got -20.0 for -10.0 at index 0",
    ),
    (lambda: stages.dominating(None, MESH), TypeError, "cells"),
    (lambda: stages.dominating(CELLS, None), TypeError, "mesh"),
    (
        lambda: stages.Lattice([0, 1], [0.5], 1.0),
        ValueError,
        "mass must have one entry for each of index, got 1 for 2",
    ),
    (
        lambda: stages.Lattice([0, 1], [0.5, -0.1], 1.0),
        ValueError,
        "mass must be finite and >= 0, got -0.1 at index 1",
    ),
    (lambda: stages.Lattice([0, 1], [0.0, 0.0], 1.0), ValueError, "mass must not be all 0"),
    (lambda: stages.Lattice([0, 1], [0.5, 0.6], 1.0), ValueError, "got a sum of 1.1"),
    (
        lambda: stages.Lattice([0], [0.5], 1.0, infinite_mass=1.5),
        ValueError,
        "infinite_mass must be in [0, 1], got 1.5",
    ),
    (
        lambda: stages.mean_matched(GAUSSIAN, 101.0, 10),
        ValueError,
        "spacing must be in (0, 100], got 101.0",
    ),
    (lambda: stages.mean_matched(GAUSSIAN, 0.1, 0), ValueError, "half_length must be in [1, "),
    (lambda: stages.mean_matched(GAUSSIAN, 0.1, 2**34), ValueError, "above the memory limit of"),
    (
        lambda: stages.mean_matched(curve_alone(), 0.1, 10),
        ValueError,
        "mechanism must not be known by its privacy curve alone, got FromPrivacyCurve",
    ),
    (lambda: stages.Window(length=0), ValueError, "length must be in [1, 1099511627776], got 0"),
    (lambda: stages.Window(shift_up=-1.0), ValueError, "shift_up must be finite and >= 0, got -1"),
    (
        lambda: stages.Window(low_epsilon=2.0, high_epsilon=1.0),
        ValueError,
        "high_epsilon must be at least low_epsilon = 2.0, got 1.0",
    ),
    (lambda: stages.Window(tolerance=0.0), ValueError, "tolerance must be finite and > 0, got 0.0"),
    (lambda: stages.convolve([], [], WINDOW), ValueError, "lattices must not be empty"),
    (lambda: stages.convolve([LATTICE], [1, 2], WINDOW), ValueError, "got 2 for 1"),
    (lambda: stages.convolve([LATTICE], 3, WINDOW), TypeError, "counts must be an integer for one"),
    (lambda: stages.convolve([3], [1], WINDOW), TypeError, "lattices[0] must be a Lattice, got 3"),
    (lambda: stages.convolve(LATTICE, 0, WINDOW), ValueError, "counts must be in [1, "),
    (
        lambda: stages.convolve(LATTICE, 3, WINDOW, tilt=-1.0),
        ValueError,
        "tilt must be finite and >= 0, got -1.0",
    ),
    (
        lambda: stages.convolve([LATTICE, stages.Lattice([0], [1.0], 0.5)], [1, 1], WINDOW),
        ValueError,
        (
            "lattices must have atoms, and all one spacing, got "
            "<Lattice: 161 atoms, spacing 0.125> and <Lattice: 1 atoms, spacing 0.5>"
        ),
    ),
    (
        lambda: stages.convolve(LATTICE, 3, stages.Window(length=2**34)),
        ValueError,
        "window.length = 17179869184 needs 274877906976 bytes, which is above the memory limit of",
    ),
    (
        lambda: stages.convolve(LATTICE, 3, stages.Window(length=2**22), transforms=False),
        ValueError,
        "transforms must be True for these lattices",
    ),
    (
        lambda: stages.convolve(LATTICE, 2**53, WINDOW),
        prv.PrecisionError,
        "the power of 9007199254740992 would amplify the rounding",
    ),
    (
        lambda: stages.sum_spectrum(LATTICE, 3, stages.Window(), tilt=1.0),
        ValueError,
        "window.shift_down must be finite and > 0, got 0.0",
    ),
    (
        lambda: stages.sum_spectrum(LATTICE, 3, WINDOW, tilt=0.0),
        ValueError,
        "tilt must be finite and > 0, got 0.0",
    ),
    (
        lambda: stages.sum_spectrum(LATTICE, 3, WINDOW, tilt=1.0, most_work=1.0),
        prv.PrecisionError,
        "frequencies that most_work = 1.0 has room for",
    ),
    (lambda: COMPOSED.delta(np.inf), ValueError, "epsilon must be finite, got inf"),
    (lambda: COMPOSED.epsilon(0.0), ValueError, "delta must be in (0, 1], got 0.0"),
    (
        lambda: COMPOSED.epsilon([0.5, 2.0]),
        ValueError,
        "delta must be in (0, 1], got 2.0 at index 1",
    ),
    (lambda: COMPOSED.epsilon(0.1, guess=np.nan), ValueError, "guess must be finite, got nan"),
    (lambda: planned(delta=1.0), ValueError, "delta must be in (0, 1), got 1.0"),
    (lambda: planned(tilt=0.0), ValueError, "tilt must be finite and > 0, got 0.0"),
    (lambda: planned(mesh_size=0.0), ValueError, "mesh_size must be in (0, 100], got 0.0"),
    (lambda: planned(eps_error=-1.0), ValueError, "eps_error must be finite and > 0, got -1.0"),
    (lambda: planned(engine="auto"), ValueError, "engine must be one of 'convolution', 'spectrum'"),
    (lambda: planned(mesh_size=1e-12), ValueError, "which is above the memory limit of"),
    (lambda: stages.plan([], **PLAN), ValueError, "mechanisms must not be empty"),
    (lambda: stages.plan(GAUSSIAN, 0, **PLAN), ValueError, "counts be at least 1"),
    (
        lambda: stages.plan(prv.ApproximateDP(1.0, 1e-3), **PLAN),
        ValueError,
        "delta must be above the mass at infinity, 0.001, got 1e-05",
    ),
]


@pytest.mark.parametrize(("call", "kind", "message"), BAD, ids=range(len(BAD)))
def test_a_bad_argument_is_named_with_its_value_and_its_range(call, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        call()


LIMITED = {
    "cells": lambda limit: stages.cells(GAUSSIAN, MESH.losses, memory_limit=limit).mass,
    "dominating": lambda limit: stages.dominating(CELLS, MESH, memory_limit=limit).mass,
    "dominated": lambda limit: stages.dominated(CELLS, MESH, memory_limit=limit).mass,
    "mean_matched": lambda limit: stages.mean_matched(GAUSSIAN, 0.1, 80, memory_limit=limit).mass,
    "convolve": lambda limit: stages.convolve(LATTICE, 3, WINDOW, memory_limit=limit).mass,
    "sum_spectrum": lambda limit: stages.sum_spectrum(
        LATTICE, 3, WINDOW, tilt=1.0, memory_limit=limit
    ).delta(1.0),
    "plan": lambda limit: planned(memory_limit=limit).knots[0],
}


@pytest.mark.parametrize("name", LIMITED)
def test_the_memory_limit_of_a_call_refuses_what_has_no_room_and_changes_nothing_else(name):
    call = LIMITED[name]
    with pytest.raises(ValueError, match="memory limit of 2000 bytes"):
        call(2000)
    with pytest.raises(ValueError, match=r"memory_limit must be in \[1, "):
        call(0)
    np.testing.assert_array_equal(call(10**8), call(None))
    before = prv.get_memory_limit()
    prv.set_memory_limit(2000)
    try:
        with pytest.raises(ValueError, match="memory limit of 2000 bytes"):
            call(None)
    finally:
        prv.set_memory_limit(before)


@pytest.mark.parametrize("name", stages.__all__)
def test_names_say_that_they_are_from_the_public_module(name):
    assert getattr(stages, name).__module__ == "prvcore.stages"


@pytest.mark.parametrize("name", ["Cells", "Convolution", "Composed", "Plan", "Spectrum"])
def test_what_a_function_makes_is_made_by_it_alone(name):
    with pytest.raises(TypeError, match="made by"):
        getattr(stages, name)()


def test_objects_that_nobody_filled_do_no_harm():
    def unfilled(name):
        kind = getattr(stages, name)
        return kind.__new__(kind)

    cells, mesh, lattice, window = map(unfilled, ("Cells", "Mesh", "Lattice", "Window"))
    convolution = unfilled("Convolution")
    assert [cells.mass.size, cells.relative.size, mesh.index.size, mesh.losses.size] == [0] * 4
    assert lattice.mass.size == 0
    for call in (
        lambda: stages.dominating(cells, MESH),
        lambda: stages.dominated(CELLS, mesh),
        lambda: stages.convolve(lattice, 1, WINDOW),
        lambda: stages.convolve(LATTICE, 1, window),
        lambda: unfilled("Spectrum").delta(1.0),
        lambda: convolution.epsilon(0.1),
        lambda: convolution.errors,
    ):
        with pytest.raises(ValueError, match=r"empty|atoms|at least 1|made by"):
            call()
    assert convolution.mass.size == convolution.loss.size == 0


def test_the_former_name_of_the_spacing():
    assert stages.Mesh([0, 1], step=0.5).spacing == stages.Mesh([0, 1], 0.5).step == 0.5
    assert (
        stages.Lattice([0], [1.0], step=0.5).spacing == stages.Lattice([0], [1.0], 0.5).step == 0.5
    )
    assert stages.mean_matched(GAUSSIAN, step=0.1, half_length=50).spacing == 0.1
    with pytest.raises(TypeError, match="spacing must not be given with step"):
        stages.Mesh([0, 1], 0.5, step=0.5)
    with pytest.raises(TypeError, match="spacing must be a real number"):
        stages.Mesh([0, 1])


def test_stages_are_immutable():
    for made, again in (
        (MESH, lambda: MESH.__init__([0, 1], 1.0)),
        (LATTICE, lambda: LATTICE.__init__([0, 1], [0.5, 0.5], 1.0)),
        (WINDOW, lambda: WINDOW.__init__(length=3)),
    ):
        with pytest.raises(TypeError, match="is immutable"):
            again()
        with pytest.raises(AttributeError):
            made.spacing = 3.0
    LATTICE.mass[:] = 0.0  # a copy
    assert LATTICE.mass.sum() == pytest.approx(1.0)
    for thing in (CELLS, MESH, LATTICE, WINDOW, COMPOSED, planned()):
        with pytest.raises(TypeError):
            pickle.dumps(thing)
        with pytest.raises(TypeError):
            copy.copy(thing)


def test_threads_share_a_composition():
    deltas = np.geomspace(1e-6, 0.1, 64)
    alone = COMPOSED.epsilon(deltas)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: COMPOSED.epsilon(deltas), range(32)):
            np.testing.assert_array_equal(found, alone)


def test_shapes_are_those_of_the_points():
    points = np.linspace(0.0, 1.0, 6).reshape(2, 3)
    assert [part.shape for part in COMPOSED.delta(points)] == [(2, 3)] * 3
    assert all(isinstance(part, float) for part in COMPOSED.delta(0.5))
    assert all(isinstance(part, float) for part in COMPOSED.epsilon(0.5))
    assert COMPOSED.delta(points).estimate[1, 2] == COMPOSED.delta(1.0).estimate
    assert COMPOSED.delta([]).lower.shape == (0,)


def test_a_function_of_ones_own_that_raises_comes_through():
    def cdf(x):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        stages.cells(prv.FromCDFs(cdf, cdf), [0.0, 1.0])


# Where e^(-tilt x) leaves the range of doubles, and its product with what is summed does not.
HALVES = {"index": [0, 1], "mass": [0.5, 0.5]}


def extreme(kind, lattice, tilt, **window):
    """Compose one step over a window far from the lattice, or with a tilt that overflows."""
    if kind == "spectrum":
        return stages.sum_spectrum(lattice, 1, stages.Window(**window), tilt=tilt)
    transforms = kind == "transforms"
    return stages.convolve(lattice, 1, stages.Window(**window), tilt=tilt, transforms=transforms)


@pytest.mark.parametrize("kind", ["transforms", "products"])
@pytest.mark.parametrize("tilt", [1e300, 1e306, 1e308])
def test_a_tilt_that_overflows_gives_no_false_epsilon(kind, tilt):
    lattice = stages.Lattice([500, 501], [0.5, 0.5], 1.0)
    bounds = extreme(kind, lattice, tilt, length=8, lowest=499.0).epsilon(0.1)
    assert bounds.lower <= 500.5 < bounds.upper  # delta(500.5) = (1 - e^-0.5) / 2 > 0.1


def test_a_scale_that_underflows_loses_no_delta():
    lattice = stages.Lattice([0], [1e-20], 1.0)
    for lowest in (690.0, 705.0, 720.0, 745.0, 800.0):
        bounds = extreme("products", lattice, 1.0, length=4, lowest=lowest).delta(-0.5)
        assert bounds.lower <= 1e-20 * -math.expm1(-0.5) <= bounds.upper


@pytest.mark.parametrize(
    ("kind", "tilt", "epsilon", "window"),
    [
        ("transforms", 3.0, 0.0, {"length": 8, "lowest": 800.0}),
        ("products", 1.0, 0.0, {"length": 8, "lowest": 1e308}),
        ("spectrum", 1.0, -1000.0, {"tolerance": 1e-9}),
        ("spectrum", 1.0, 0.0, {"tolerance": 1e308}),
    ],
)
def test_bounds_are_numbers_wherever_the_window_is(kind, tilt, epsilon, window):
    if kind == "spectrum":
        window = {"shift_up": 1.0, "shift_down": 1.0, "high_epsilon": 10.0, **window}
    bounds = extreme(kind, stages.Lattice(**HALVES, spacing=1.0), tilt, **window).delta(epsilon)
    exact = sum(max(-math.expm1(epsilon - loss), 0.0) / 2 for loss in (0, 1))
    assert bounds.lower <= exact <= bounds.upper


def test_what_is_no_lattice_is_refused_by_name():
    with pytest.raises(TypeError, match="lattices must be a Lattice, or a sequence of them, got 5"):
        stages.convolve(5, 1, WINDOW)
    assert repr(stages.Plan.__new__(stages.Plan)) == "<Plan: empty>"
