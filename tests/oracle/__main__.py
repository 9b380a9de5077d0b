"""Ask prvcore random questions for some minutes, and compare each answer with the truth."""

import argparse
import secrets
import shlex
import sys
import time
import warnings
from collections import Counter


def main(arguments=None):
    """Ask, count, print; the exit status is 1 if any bound was violated."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0, help="how long (%(default)s)")
    parser.add_argument("--seed", type=int, help="of all settings; left out, a new one")
    parser.add_argument("--first", type=int, default=0, help="setting to begin with (%(default)s)")
    parser.add_argument("--settings", type=int, help="stop after so many")
    parser.add_argument("--kinds", nargs="+", help="of settings; left out, all of them")
    parser.add_argument("--patience", type=float, default=1.0, help="seconds for one answer")
    parser.add_argument("--memory", type=int, default=2**26, help="prvcore's limit in bytes")
    parser.add_argument("--verbose", action="store_true", help="print every setting")
    options = parser.parse_args(arguments)
    import prvcore

    from .judge import judge
    from .settings import KINDS, draw

    unknown = set(options.kinds or ()) - set(KINDS)
    if unknown:
        parser.error(f"--kinds must be of {sorted(set(KINDS))}, got {sorted(unknown)}")
    again = f" --kinds {shlex.join(options.kinds)}" if options.kinds else ""

    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    warnings.simplefilter("ignore", prvcore.AccuracyWarning)
    prvcore.set_memory_limit(options.memory)
    start, number = time.monotonic(), options.first
    kinds, outcomes, held, ways, reasons, questions, wrong = (Counter() for _ in range(7))
    compared, violations, slowest = 0, [], 0.0
    while time.monotonic() - start < 60 * options.minutes:
        if options.settings is not None and number >= options.first + options.settings:
            break
        setting = draw(seed, number, options.kinds or KINDS)
        began = time.monotonic()
        try:
            verdict = judge(setting, options.patience)
        except Exception as error:
            raise RuntimeError(f"setting {number} of seed {seed}: {setting!r}") from error
        slowest = max(slowest, time.monotonic() - began)
        kinds[setting.kind] += 1
        outcomes[verdict.outcome] += 1
        compared += verdict.compared
        questions.update(verdict.questions)
        if verdict.outcome == "held":
            held[setting.kind] += 1
            ways.update(verdict.ways)
        elif verdict.outcome == "violated":
            violations += verdict.violations
            wrong[setting.kind] += 1
            for line in verdict.violations:
                command = f"--seed {seed} --first {number} --settings 1{again}"
                print(f"VIOLATION {setting.kind}: {line}  # {command}", flush=True)
        elif verdict.violations:
            reasons[verdict.violations[0]] += 1
        if options.verbose:
            spent = time.monotonic() - began
            print(
                f"{number} {spent:.2f} s {verdict.outcome} {' and '.join(verdict.ways)}: "
                f"{setting.kind} {setting!r}",
                flush=True,
            )
        number += 1
    print(f"seed {seed}, settings {options.first} to {number - 1}")
    print(f"{'kind':30}{'tried':>8}{'held':>8}{'violated':>10}")
    for kind, count in sorted(kinds.items()):
        print(f"{kind:30}{count:8}{held[kind]:8}{wrong[kind]:10}")
    for title, counter in (
        ("outcome", outcomes),
        ("asked", questions),
        ("truth by", ways),
        ("gave up", reasons),
    ):
        for name, count in counter.most_common(8):
            print(f"{title}: {name}: {count}")
    print(f"longest setting {slowest:.1f} s")
    print(f"settings tried {sum(kinds.values())}, bounds compared {compared}")
    print(f"violations {len(violations)}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
