"""Pictures and tables of sweeps: every number is in them, and no line is false."""

import matplotlib
import numpy as np
import pytest

import prvcore as prv

matplotlib.use("Agg")
from matplotlib import pyplot  # after the choice of what draws


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def drawn(axes):
    """Return the points of all lines."""
    return sorted(
        point
        for line in axes.lines
        for point in zip(line.get_xdata().tolist(), line.get_ydata().tolist(), strict=True)
    )


def legend(axes):
    found = axes.get_legend()
    return [] if found is None else [text.get_text() for text in found.get_texts()]


def test_epochs_are_across_and_noise_has_colours():
    plan = prv.dpsgd_schedule(60_000, 256, [1, 2, 4])
    bounds = plan.epsilon([[0.8], [1.0]], 1e-5)
    axes = bounds.plot()
    assert axes.get_xlabel() == "epochs"
    assert axes.get_ylabel() == "upper bound of epsilon (nats)"
    across = np.broadcast_to([1.0, 2.0, 4.0], (2, 3))
    assert drawn(axes) == sorted(zip(across.ravel(), bounds.upper.ravel(), strict=True))
    assert legend(axes) == ["noise multiplier", "0.8", "1"]
    assert "dataset size 60000" in axes.get_title()


@pytest.mark.slow
@pytest.mark.parametrize(("epochs", "whole"), [([10, 15, 20], True), ([0.5, 1.0, 1.5], False)])
def test_whole_epochs_have_whole_ticks(epochs, whole):
    axes = prv.dpsgd_schedule(60_000, 256, epochs).epsilon(1.1, 1e-5).plot()
    assert all(tick.is_integer() for tick in axes.get_xticks().tolist()) == whole


def test_many_points_are_a_line_without_dots():
    few, many = (prv.dpsgd_epsilon(np.linspace(1.0, 2.0, n), 0.01, 10, 1e-5) for n in (50, 51))
    assert few.plot().lines[0].get_marker() == "o"
    assert many.plot().lines[0].get_marker() == ""


def test_a_sweep_of_too_much_is_told_what_there_is():
    noise, probability = np.linspace(2.0, 3.0, 6)[:, None, None], np.linspace(0.01, 0.02, 5)
    sweep = prv.dpsgd_epsilon(noise, probability[:, None], [1, 2], 1e-5)
    told = r"beside steps there are noise_multiplier \(6\), sampling_probability \(5\)$"
    with pytest.raises(ValueError, match=told):
        sweep.plot()


def test_a_title_says_what_is_not_the_default():
    plan = prv.dpsgd_schedule(1000, 100, [1, 2])
    fixed = "noise multiplier 1, dataset size 1000, batch size 100, delta 1e-05"

    def title(bounds):
        said = bounds.plot().get_title().replace("\n", " ").split(", ")
        return sorted(set(said) - set(fixed.split(", ")))

    assert title(plan.epsilon(1.0, 1e-5)) == []
    assert title(plan.epsilon(1.0, 1e-5, neighbors="remove")) == ["remove"]
    twice = prv.dpsgd_schedule(1000, 100, [1, 2], accumulation_steps=2)
    assert title(twice.epsilon(1.0, 1e-5)) == ["accumulation steps 2"]
    allocated = prv.dpsgd_schedule(1000, 100, [1, 2], sampler="random-allocation")
    assert title(allocated.epsilon(1.0, 1e-5)) == ["random-allocation"]
    opacus = prv.dpsgd_schedule(1000, 100, [1, 2], loader="opacus", drop_last=True)
    assert title(opacus.epsilon(1.0, 1e-5)) == ["loader of Opacus with drop_last"]
    alone = prv.dpsgd_epsilon(
        1.0, 0.1, [10, 20], 1e-5, sampler="fixed-size", neighbors="replace-one"
    )
    assert {"fixed-size", "replace-one"} <= set(title(alone))
    found = prv.dpsgd_steps(1.0, 0.1, 1.0, 1e-5, neighbors="remove")
    assert found.settings["neighbors"] == "remove"


@pytest.mark.slow
def test_each_parameter_has_a_look_of_its_own():
    noise = np.array([0.8, 1.0, 1.2])[:, None, None]
    bounds = prv.dpsgd_epsilon(noise, np.array([1e-3, 2e-3])[:, None], [100, 1000], 1e-5)
    axes = bounds.plot()
    assert len(axes.lines) == 6
    assert len({line.get_color() for line in axes.lines}) == 3
    assert len({line.get_linestyle() for line in axes.lines}) == 2
    other = bounds.plot("noise_multiplier")
    assert other.get_xlabel() == "noise multiplier"
    assert len(other.lines) == 4


@pytest.mark.slow
def test_many_values_have_a_scale_of_colours():
    axes = prv.dpsgd_epsilon(np.linspace(0.8, 2, 20)[:, None], 1e-3, [100, 1000], 1e-5).plot()
    assert len({matplotlib.colors.to_hex(line.get_color()) for line in axes.lines}) == 20
    assert len(legend(axes)) == 21


def test_what_a_logarithmic_axis_has_not_is_left_out_and_said():
    bounds = prv.dpsgd_epsilon(1.0, 0.01, [0, 10, 1000], 1e-5)
    axes = bounds.plot()
    assert drawn(axes) == sorted(zip([10, 1000], bounds.upper[1:].tolist(), strict=True))
    assert "are not drawn" in axes.texts[0].get_text()


@pytest.mark.slow
def test_an_empty_picture_says_why():
    axes = prv.dpsgd_epsilon(0.0, 0.5, [1, 100], 1e-5).plot()
    assert "epsilon is 0 or infinite at every setting" in axes.texts[-1].get_text()
    assert drawn(prv.dpsgd_delta(1.0, 0.0, [1, 10], 1.0).plot()) == [(1, 0.0), (10, 0.0)]


def test_one_setting_is_a_point():
    bounds = prv.dpsgd_epsilon(1.0, 0.01, 100, 1e-5)
    assert drawn(bounds.plot()) == [(100, bounds.upper)]


@pytest.mark.slow
def test_too_many_parameters_are_refused_by_name():
    bounds = prv.dpsgd_epsilon(
        np.linspace(0.8, 2, 6)[:, None, None, None],
        np.linspace(0.01, 0.02, 5)[:, None, None],
        [10, 20],
        np.geomspace(1e-6, 1e-5, 5)[:, None],
    )
    with pytest.raises(ValueError, match=r"noise_multiplier \(6\), sampling_probability \(5\)"):
        bounds.plot()
    with pytest.raises(ValueError, match="x must be one of"):
        bounds.plot("epochs")


def test_tables_have_a_row_for_each_setting():
    pytest.importorskip("pandas", reason="pandas is not installed")
    bounds = prv.dpsgd_epsilon([[0.8], [1.0]], 1e-3, [100, 200], 1e-5)
    table = bounds.to_dataframe()
    assert list(table) == [*bounds.settings, "lower", "estimate", "upper"]
    assert table["upper"].tolist() == bounds.upper.ravel().tolist()
    assert table["noise_multiplier"].tolist() == [0.8, 0.8, 1.0, 1.0]
    found = prv.dpsgd_noise_multiplier(1e-3, [100, 200], 1.0, 1e-5)
    assert found.to_dataframe()["value"].tolist() == found.value.tolist()
    whole = prv.dpsgd_schedule(1000, 10, [1, 2]).epsilon(1.0, 1e-5).to_dataframe()
    assert whole["rounding"].tolist() == ["up-each-epoch"] * 2


def test_the_pivot_table_of_the_tutorial_has_the_upper_bounds_rounded_up():
    pytest.importorskip("pandas", reason="pandas is not installed")
    plans = prv.dpsgd_schedule(60_000, 256, epochs=[5, 10, 15])
    grid = plans.epsilon([[0.8], [1.1], [1.5]], delta=1e-5, eps_error=1e-4)
    table = round(grid, 2).to_dataframe()
    table = table.pivot(index="noise_multiplier", columns="epochs", values="upper")
    assert table.to_numpy().tolist() == round(grid, 2).upper.tolist()
    assert (table.to_numpy() >= grid.upper).all()
    assert (list(table.index), list(table.columns)) == ([0.8, 1.1, 1.5], [5.0, 10.0, 15.0])


def test_calibrations_of_a_sweep_are_proven():
    found = prv.dpsgd_noise_multiplier(256 / 60_000, 3525, [2.0, 4.0], 1e-5)
    assert found.proven.tolist() == [True, True]
    alone = prv.dpsgd_noise_multiplier(256 / 60_000, 3525, 2.0, 1e-5)
    assert alone.proven is True


def test_calibrations_are_drawn_where_they_are_certain_to_hold():
    plan = prv.dpsgd_schedule(60_000, [[256], [512]], [1, 2])
    found = plan.noise_multiplier(1.0, 1e-5)
    axes = found.plot()
    assert axes.get_ylabel() == "least noise multiplier"
    assert (
        plan.noise_multiplier([1.0, 2.0], 1e-5).plot(x="epsilon").get_xlabel() == "epsilon (nats)"
    )
    across = np.broadcast_to([1.0, 2.0], (2, 2))
    assert drawn(axes) == sorted(zip(across.ravel(), found.value.ravel(), strict=True))
    most = prv.dpsgd_steps([1.0, 1.5], 0.01, 1.0, 1e-5)
    axes = most.plot()
    assert axes.get_ylabel() == "most steps"
    assert drawn(axes) == sorted(zip([1.0, 1.5], most.value, strict=True))
