"""The benchmark of searches asks the same questions again, and tells what they cost."""

import importlib
import sys

import pytest

from tests.support.checkout import ROOT

if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the benchmarks are part of the checkout", allow_module_level=True)


@pytest.fixture(scope="module")
def searches():
    sys.path.append(str(ROOT))
    try:
        return importlib.import_module("benchmarks.searches")
    finally:
        sys.path.remove(str(ROOT))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["calibrate", "filter"])
def test_a_question_is_the_same_whatever_is_asked_before(searches, capsys, kind):
    asked = []
    for first, questions in ((0, 4), (3, 1)):
        searches.main(
            [
                "--kind",
                kind,
                "--first",
                str(first),
                "--questions",
                str(questions),
                "--patience",
                "60",
            ]
        )
        lines = capsys.readouterr().out.splitlines()
        assert f": {questions} questions; mean" in lines[-1]
        [question] = [line for line in lines if " MB  3: " in line and "most memory" not in line]
        asked.append(question.partition(" MB  ")[2])
    assert asked[0] == asked[1]
