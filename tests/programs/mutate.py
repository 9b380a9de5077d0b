"""Break the core in small ways, one at a time, and count the breaks that its tests catch.

``python -m tests.programs.mutate --number 100 --seed 1`` draws so many breaks from all places in
src_c that a bound may rely on: a sign, the direction of a rounding, a constant of rounding, a term
of an error, lower for upper, add for remove. Comments, loops and sizes are left out, and so are
files and lines that plan: what they set, an estimate or the work to expect, no bound relies on. It
builds the library with each, and puts it to one check after the other until one fails, the quick
ones that see most first: the C test of the broken file, those of its room that take tenths of a
second, those that take seconds, the files of Python's tests that are about the broken file, random
questions (tests/oracle) and random witnesses. Each break that survives is printed with the
arguments that make it again, and wants a test, or the reason why no answer can show it, which
docs/testing.rst lists. CMake, Ninja, a C compiler and the environment that builds the Python
package are needed; with ccache, a break that is caught takes some seconds of one processor, one
that survives a minute or two.
"""

import argparse
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from tests.support.checkout import ROOT

# Planning chooses for speed only: no bound relies on it, and base has no arithmetic of bounds.
ROOMS = ("numerics", "mechanisms", "lattices", "composition", "curve", "closed", "questions")
PLANNING = ("questions/growth_plan.c", "questions/next_pass.c")
PLANS = r"(?:^\s*|->|\.|\*)(?:estimate|guess|expected|work|most_work|bytes|memory)\s*[-+*/]?= "
ERRORS = r"\w*(?:error|rounding|slack|relative|absolute|excess|PRV_UNIT|DBL_MIN)"
# What is broken: a regular expression, and what stands in its place.
RULES = {
    "sign of an error": (rf" \+ (?={ERRORS})", " - "),
    "error dropped": (rf" \+ {ERRORS}\b(?![(\[.]|->| \*)", ""),
    "term of a sum dropped": (r"^(\s+)[\w.>\[\]-]+ \+= [^;]+;$", r"\1;"),
    "rounded down for up": (r"\bprv_above\(", "prv_below("),
    "rounded up for down": (r"\bprv_below\(", "prv_above("),
    "constant halved": (r"(?<![\w.])(\d+\.\d+) \* PRV_UNIT", r"(0.5 * \1) * PRV_UNIT"),
    "lower for upper": (r"(->|\.)upper\b(?!\()", r"\1lower"),
    "upper for lower": (r"(->|\.)lower\b(?!\()", r"\1upper"),
    "remove for add": (r"\bPRV_ADD\b(?!_)", "PRV_REMOVE"),
    "least for greatest": (r"\bfmax\(", "fmin("),
    "greatest for least": (r"\bfmin\(", "fmax("),
    "comparison turned": (r" (?:>|<)(=?) (?=\w)", None),
    "factor inverted": (r"(?<=\w) \* (?=(?:exp|exp2|ldexp|expl)\()", " / "),
}


# C tests that take tenths of a second, by the rooms that they are about, in the order of what they
# find. Before these come those that begin with the first word of the file's name.
QUICK = {
    "numerics": "rounding normal binomial log_sum vector_math libm truth",
    "mechanisms": "truth origin query combined closed_form gate trade_off",
    "lattices": "truth combined query witness",
    "composition": "convolution untilted jumps growing_spectrum truth query",
    "curve": "gate curve untilted truth query",
    "closed": "closed_form truth sweep query",
    "questions": "query truth gate trade_off closed_form sweep gaussian_mu dpsgd calibration",
}
# Those that take seconds, for breaks that the others let through.
LONG = {
    "numerics": "chernoff cells lattice",
    "mechanisms": "renyi risk history cells",
    "lattices": "spectrum cells lattice",
    "composition": "spectrum history lattice",
    "curve": "chernoff renyi risk lattice",
    "closed": "risk history",
    "questions": "renyi risk combined history chernoff",
}
# Files of Python's tests by what the name of a broken file has in it, and what all others get.
PYTHON = {
    r"renyi": ("mathematics/test_renyi.py",),
    r"trade_off|bayes|risk|gaussian_mu": ("mathematics/test_risk.py", "api/test_curves.py"),
    r"gaussian_c": ("mathematics/test_gaussian_dp.py",),
    r"closed": ("mathematics/test_closed_forms.py",),
    r"jump": ("mathematics/test_jumps.py", "mathematics/test_tiny_delta.py"),
    r"ratio|combin|part_laws|enclos|profile": ("mathematics/test_combined.py",),
    r"mean_matching|conditional_mean|discretize": (
        "mathematics/test_mean_matching.py",
        "mathematics/test_reference.py",
    ),
    r"calibration": ("api/test_calibration.py",),
    r"grow|history|kept|count_range|sweep": ("api/test_accountant.py", "api/test_sweeps.py"),
    r"trunc|replace_one|shuffled|batches": ("mathematics/test_batches.py",),
    r"composition/|convolution|spectr": ("mathematics/test_engines.py",),
    r"": (
        "mathematics/test_certificate.py",
        "mathematics/test_truth.py",
        "mathematics/test_stages.py",
        "mathematics/test_attained.py",
    ),
}
Check: TypeAlias = tuple[str, Callable[[], bool]]
ARCHIVE = "tests/libprvcore_testing_long_double.a"
MEMORY = 6 << 30  # bytes that a check may take


class Break(NamedTuple):
    """One change of one line."""

    rule: str
    path: str  # from src_c
    line: int  # counted from 1
    before: str
    after: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}: {self.rule}"
        return f"{place}\n    - {self.before.strip()}\n    + {self.after.strip()}"


def without_comments(text: str) -> str:
    """Return the text with comments as spaces, so that lines and columns stay."""
    return re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.DOTALL)


def turned(match: re.Match[str]) -> str:
    """Return the other comparison."""
    return match[0].replace(">", "<") if ">" in match[0] else match[0].replace("<", ">")


def breaks_of(path: Path) -> list[Break]:
    """Return all breaks of a file, in order."""
    found = []
    lines = path.read_text(encoding="utf-8").split("\n")
    code = without_comments("\n".join(lines)).split("\n")
    name = path.relative_to(ROOT / "src_c").as_posix()
    for number, (line, bare) in enumerate(zip(lines, code, strict=True), 1):
        if bare.lstrip().startswith(("#", "for (", "const size_t", "size_t")):
            continue  # loops and sizes break memory, which sanitizers see
        if re.search(PLANS, bare):
            continue
        for rule, (pattern, replacement) in RULES.items():
            for match in re.finditer(pattern, bare):
                new = turned(match) if replacement is None else match.expand(replacement)
                after = line[: match.start()] + new + line[match.end() :]
                found.append(Break(rule, name, number, line, after))
    return found


def drawn(number: int, seed: int) -> list[Break]:
    """Return so many breaks, as many of each rule as there are, without repeating one."""
    rng = random.Random(seed)
    of_rule: dict[str, list[Break]] = {rule: [] for rule in RULES}
    for room in ROOMS:
        for path in sorted((ROOT / "src_c" / room).glob("*.[ch]")):
            for found in breaks_of(path):
                if found.path not in PLANNING:
                    of_rule[found.rule].append(found)
    for found in of_rule.values():
        rng.shuffle(found)
    chosen: list[Break] = []
    while len(chosen) < number and any(of_rule.values()):
        chosen += [found.pop() for found in of_rule.values() if found]
    return chosen[:number]


class Copy:
    """A copy of the checkout in which breaks are made and undone."""

    def __init__(self, folder: Path, oracle: float) -> None:
        self.root, self.build, self.oracle = folder / "checkout", folder / "build", oracle
        self.copy_sources()
        launcher = shutil.which("ccache") or ""
        self.run(
            *("cmake", "-S", self.root / "src_c", "-B", self.build, "-G", "Ninja"),
            *("-DPRVCORE_SHARED=OFF", "-DCMAKE_DISABLE_FIND_PACKAGE_FFTW3=ON"),
            *("-DCMAKE_POSITION_INDEPENDENT_CODE=ON", f"-DCMAKE_C_COMPILER_LAUNCHER={launcher}"),
        )
        self.trusted: set[str] = set()  # checks that were seen to pass where nothing is broken

    def copy_sources(self) -> None:
        """Write what differs, so that a copy of an earlier run is built anew only where needed."""
        for part in ("src_c", "prvcore", "tests", "verify", "benchmarks"):
            for path in sorted((ROOT / part).rglob("*")):
                target = self.root / path.relative_to(ROOT)
                if path.is_dir() or path.suffix in (".so", ".pyc", ".a"):
                    continue
                if not target.is_file() or target.read_bytes() != path.read_bytes():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, target)
        for path in ROOT.iterdir():
            if path.is_file():
                shutil.copy2(path, self.root)

    def run(self, *command: str | Path, seconds: int = 1200, **variables: str) -> bool:
        """Return whether the command succeeds within so many seconds of processor time."""

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

        done = subprocess.run(
            [str(word) for word in command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            check=False,
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.root), **variables},
            preexec_fn=limit,
        )
        return done.returncode == 0

    def makes(self, *targets: str) -> bool:
        """Return whether the targets compile."""
        return self.run("cmake", "--build", self.build, "--target", *targets)

    def test(self, name: str) -> bool:
        """Return whether a C test passes that is made; one that does not end has failed."""
        argument = ("portable",) if name == "truth" else ()
        program = self.build / "tests" / f"test_{name}_long_double"
        return self.run(program, *argument, seconds=60, PRVCORE_TEST_TRIALS="50")

    def c_tests(self, names: Iterable[str]) -> Iterator[Check]:
        """Return a check for each C test, all of which are made together."""
        names = list(dict.fromkeys(names))
        targets = [f"test_{name}_long_double" for name in names]
        yield "the C tests' build", partial(self.makes, *targets)
        for name in names:
            yield f"C test {name}", partial(self.test, name)

    def make_modules(self) -> None:
        """Link the modules of the Python package with the library as it is now."""
        (made,) = self.root.glob("build/temp.*/build/cython")
        for item in sorted(made.rglob("*.o")):
            module = self.root / item.relative_to(made)
            module = module.with_name(module.stem + sysconfig.get_config_var("EXT_SUFFIX"))
            linker = sysconfig.get_config_var("LDSHARED").split()
            if not self.run(*linker, item, self.build / ARCHIVE, "-lm", "-o", module):
                raise RuntimeError(f"{module.name} cannot be linked")

    def python(self, *arguments: str, seconds: int) -> bool:
        """Return whether a program of the checkout succeeds."""
        return self.run(sys.executable, "-m", *arguments, seconds=seconds)

    def builds(self, with_package: bool) -> bool:
        """Return whether the library, and the Python package, build before anything is broken."""
        if with_package and not any(self.root.glob("prvcore/_core/*.so")):  # linked anew for each
            python = (sys.executable, "setup.py", "-q", "build_clib", "build_ext", "--inplace")
            if not self.run(*python):
                return False
        return self.makes(Path(ARCHIVE).name)

    def pytest(self, file: str) -> bool:
        """Return whether a file's tests pass that are not slow, with the library as it is now."""
        self.make_modules()
        options = ("-q", "-x", "-m", "not slow", "-p", "no:cacheprovider")
        return self.python("pytest", *options, file, seconds=240)

    def quick_checks(self, path: str) -> Iterator[Check]:
        """Return the checks of seconds for a break in a file, in order."""
        room, file = Path(path).parts
        first = Path(file).stem.split("_")[0]
        tests = sorted((self.root / "src_c" / "tests").glob(f"test_{first}*.c"))
        own = [test.stem.removeprefix("test_") for test in tests]
        yield from self.c_tests([*own, *QUICK[room].split()])
        yield from self.c_tests(name for name in LONG[room].split() if name not in own)

    def long_checks(self, path: str) -> Iterator[Check]:
        """Return those of minutes, for breaks that the quick ones let through."""
        for pattern, files in PYTHON.items():
            if re.search(pattern, path):
                for file in files:
                    yield file, partial(self.pytest, f"tests/{file}")
        seconds = ("--minutes", str(self.oracle / 60), "--seed", "5")
        yield "random questions", partial(self.python, "tests.oracle", *seconds, seconds=600)
        seeds = ("--seeds", "0", "8", "--most-steps", "30")
        yield "random witnesses", partial(self.python, "tests.witnesses", *seeds, seconds=600)

    def first_failure(self, made: Break, checks: Callable[[str], Iterator[Check]]) -> str | None:
        """Return the first check that fails with a break and passes without, or None."""
        self.change(made, made.after)
        built = self.makes(Path(ARCHIVE).name)
        failed = ((name, passes) for name, passes in checks(made.path) if not passes())
        found = next(failed, None) if built else ("the compiler", lambda: True)
        self.change(made, made.before)
        if found is None:
            return None
        name, passes = found
        if name not in self.trusted and not (self.makes("tests_long_double") and passes()):
            raise RuntimeError(f"{name} fails although nothing is broken")
        self.trusted.add(name)
        return name

    def change(self, made: Break, line: str) -> None:
        """Write the line in the place of the break."""
        path = self.root / "src_c" / made.path
        lines = path.read_text(encoding="utf-8").split("\n")
        lines[made.line - 1] = line
        path.write_text("\n".join(lines), encoding="utf-8")


def main() -> int:
    """Return 0 if no break survives."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs.mutate", description=__doc__)
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="the C tests alone")
    parser.add_argument(
        "--only", type=int, action="append", help="the break of this place in the draw"
    )
    parser.add_argument("--oracle", type=float, default=20.0, metavar="SECONDS")
    parser.add_argument("--folder", type=Path, help="of the copy, to be used again by later runs")
    parser.add_argument("--list", action="store_true", help="print the breaks, and make none")
    arguments = parser.parse_args()
    breaks = list(enumerate(drawn(arguments.number, arguments.seed)))
    if arguments.only:
        breaks = [breaks[place] for place in arguments.only]
    if arguments.list:
        print("\n".join(f"{place} {made}" for place, made in breaks))
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        copy = Copy(arguments.folder or Path(temporary), arguments.oracle)
        if not copy.builds(with_package=not arguments.quick):
            print("nothing builds before anything is broken")
            return 2
        by, survivors = Counter(), breaks
        kinds = (copy.quick_checks, copy.long_checks)
        for checks in kinds[:1] if arguments.quick else kinds:
            left = []
            for place, made in survivors:
                check = copy.first_failure(made, checks)
                by[check] += 1
                if check is None:
                    left.append((place, made))
                print(f"{check or '...'}: {place} {made}", flush=True)
            survivors = left
    for check, count in by.most_common():
        if check is not None:
            print(f"{count:4} found by {check}")
    print(f"{len(survivors):4} survive")
    for place, made in survivors:
        print(f"--seed {arguments.seed} --number {arguments.number} --only {place}\n  {made}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
