"""Coverage-guided random nonsense: the tests of `test_hostile` by atheris.

``pip install atheris``, then ``python -m tests.programs.fuzz test_schedules -max_total_time=600``;
further arguments are libFuzzer's.
"""

import importlib
import sys
import warnings


def main():
    """Run one test of `test_hostile`, by its name, until it fails or the time is over."""
    import atheris

    with atheris.instrument_imports(include=["prvcore"]):
        import prvcore as prv
    name = sys.argv.pop(1) if len(sys.argv) > 1 else "test_options_and_questions"
    test = getattr(importlib.import_module("tests.robustness.test_hostile"), name)
    prv.set_memory_limit(2**22)
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", prv.AccuracyWarning)
    atheris.Setup(sys.argv, test.hypothesis.fuzz_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
