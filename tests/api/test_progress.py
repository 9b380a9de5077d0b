"""The progress function of a query: what it is told, and what it may raise."""

import _thread
import threading

import numpy as np
import pytest

import prvcore as prv

STEP = prv.PoissonSubsampledGaussian(noise_multiplier=1.0, sampling_probability=0.01)


def queries(progress):
    curve = prv.compose([(STEP, 400), (prv.Laplace(30.0), 3)], eps_error=1e-5)
    mean_matching = prv.compose(STEP, 50, discretization="mean-matching")
    yield lambda: curve.epsilon([1e-4, 1e-6, 1e-8], progress=progress), 3
    yield lambda: curve.delta([0.5, 1.0], progress=progress), 2
    yield lambda: mean_matching.epsilon(1e-5, progress=progress), 1
    yield lambda: prv.calibrate(STEP, 300, epsilon=1, delta=1e-6, progress=progress), 1


@pytest.mark.parametrize("which", range(4))
def test_what_is_told(which):
    told = []
    query, questions = list(queries(told.append))[which]
    answer = query()
    alone = list(queries(None))[which][0]()
    bounds = (answer.bounds, alone.bounds) if which == 3 else (answer, alone)
    assert np.array_equal(*bounds)
    assert len(told) > 2
    assert all(isinstance(progress, prv.Progress) for progress in told)
    fractions = [progress.fraction for progress in told]
    assert fractions == sorted(fractions)
    assert 0.0 <= fractions[0] <= fractions[-1] <= 1.0
    assert {progress.questions for progress in told} == {questions}
    positions = [progress.question for progress in told]
    assert sorted(set(positions)) == list(range(questions))
    compositions = [progress.compositions for progress in told]
    assert compositions == sorted(compositions)
    assert (compositions[-1] > 0) == (which == 3)
    if which < 2:
        assert positions == sorted(positions)
        later = [progress for progress in told if progress.width < 1.0]
        assert later
        assert all(progress.passes > 0 and progress.width_asked > 0.0 for progress in later)


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("thread", ["main", "other"])
@pytest.mark.parametrize("calls", [1, 3])
def test_what_it_raises_comes_out_of_the_query(which, thread, calls):
    left = [calls]
    caught = []

    def fail(progress):
        left[0] -= 1
        if left[0] == 0:
            raise LookupError("enough")

    def ask():
        with pytest.raises(LookupError, match="enough"):
            list(queries(fail))[which][0]()
        caught.append(left[0])

    if thread == "main":
        ask()
    else:
        other = threading.Thread(target=ask)
        other.start()
        other.join()
    assert caught == [0]  # and it is not called again


def test_it_can_be_interrupted_there():
    def interrupt(progress):
        _thread.interrupt_main()

    def ask():
        for _ in range(10**6):
            prv.compose(STEP, 400).epsilon(1e-5, progress=interrupt)

    with pytest.raises(KeyboardInterrupt):  # at the next look for signals
        ask()


@pytest.mark.parametrize("wrong", [1, "yes", 0.5])
def test_only_functions_and_booleans(wrong):
    message = f"progress must be True, False or a function of a Progress, got {wrong!r}"
    for ask in (
        lambda: prv.compose(STEP).epsilon(1e-5, progress=wrong),
        lambda: prv.calibrate(STEP, 3, epsilon=1, delta=1e-6, progress=wrong),
        lambda: prv.dpsgd_epsilon(1.0, 0.1, 3, 1e-6, progress=wrong),
    ):
        with pytest.raises(TypeError, match=message):
            ask()


def test_nothing_is_told_where_it_is_false(capsys):
    curve = prv.compose(STEP, 400)
    assert curve.epsilon(1e-5, progress=False) == curve.epsilon(1e-5, progress=None)
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow
def test_a_bar_is_shown_of_every_call(capsys):
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    curve, bounds = prv.compose(STEP, 300), []
    for progress in (False, True):
        bounds.append(curve.epsilon([1e-4, 1e-6], progress=progress).upper.tolist())
        bounds.append(prv.calibrate(STEP, 300, epsilon=1, delta=1e-6, progress=progress).bounds)
    shown = capsys.readouterr().err
    assert "2/2" in shown
    assert "1/1" in shown
    assert bounds[:2] == bounds[2:]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_sweep_tells_how_many_settings_are_done(workers):
    told = []
    prv.dpsgd_epsilon(
        [0.8, 1.0, 1.2, 0.8], 1e-3, [[100], [200]], 1e-6, workers=workers, progress=told.append
    )
    assert [type(progress) for progress in told] == [prv.Progress] * len(told)
    assert {progress.questions for progress in told} == {6}
    assert [progress.question for progress in told] == sorted(p.question for p in told)
    assert (told[-1].question, told[-1].fraction) == (6, 1.0)


@pytest.mark.parametrize("workers", [1, 2])
def test_what_the_function_of_a_sweep_raises_comes_out(workers):
    def stop(progress):
        raise LookupError(progress)

    with pytest.raises(LookupError):
        prv.dpsgd_epsilon(
            [0.8, 1.0, 1.2], 1e-3, [[100], [200]], 1e-6, workers=workers, progress=stop
        )


@pytest.mark.parametrize("point", [1e-5, [1e-5, 1e-6]])
def test_an_accountant_tells_too(point):
    accountant, told = prv.Accountant(), []
    accountant.step(noise_multiplier=0.8, sampling_probability=0.01, count=400)
    accountant.epsilon(point, progress=told.append)
    assert told
