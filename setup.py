"""The list of extensions; everything else is in pyproject.toml."""

import gzip
import os
import re
import shutil
import sys
import tarfile
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_clib import build_clib
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

HEADERS = sorted(str(path) for path in Path("src_c").rglob("*.h"))
ROOMS = Path("src_c/rooms.txt").read_text(encoding="utf-8").split()
SOURCES = sorted(str(path) for room in ROOMS for path in Path("src_c", room).glob("*.c"))
SOURCES += [f"src_c/fft/{name}.c" for name in ("plans", "portable", "provider")]
INCLUDE_DIRS = ["src_c/include", "src_c"]

if sys.platform == "win32":
    C_FLAGS, MODULE_FLAGS = ["/O2", "/std:c11"], ["/O2", "/std:c11"]
else:
    # The modules only pass arguments on: more optimisation of them takes long and gains nothing.
    MODULE_FLAGS = ["-O1", "-std=c11", "-g0", "-Werror=implicit-function-declaration"]
    C_FLAGS = ["-O3", "-std=c11", "-g0", "-fno-math-errno", "-fno-trapping-math"]
    # Every bound holds with and without fused multiply-adds, which shorten the vector code.
    C_FLAGS += ["-ffp-contract=fast", "-fvisibility=hidden"]

CORE = (
    "prvcore",
    {
        "sources": SOURCES,
        "include_dirs": INCLUDE_DIRS,
        "macros": [("PRV_FFT_PLANNER", "prv_portable_planner")],
        "cflags": C_FLAGS,
        "obj_deps": {"": HEADERS},
    },
)
# prvcore.stages, a module for each stage
STAGES = ("_arrays", "_cells", "_lattices", "_evaluation", "_composition", "_planning")


def extension(name: str, *include_dirs: str) -> Extension:
    """Return one Cython module over the C core."""
    return Extension(
        f"prvcore.{name}",
        [f"prvcore/{name.replace('.', '/')}.pyx"],
        include_dirs=[*INCLUDE_DIRS, *include_dirs],
        depends=[*HEADERS, *SOURCES],
        # classes on the heap, which may say that they are from another module: the public one
        define_macros=[("CYTHON_USE_TYPE_SPECS", "1")] if name.startswith("stages.") else [],
        extra_compile_args=MODULE_FLAGS,
    )


def version() -> str:
    """Return PRV_VERSION, the one place that states the version."""
    header = Path("src_c/include/prvcore.h").read_text(encoding="utf-8")
    return re.search(r'^#define PRV_VERSION "(.+)"$', header, re.MULTILINE)[1]


class BuildLibrary(build_clib):
    """Make the archive anew, in which `ar` would leave the objects of sources that are gone."""

    def build_libraries(self, libraries: list) -> None:
        """Compile what has changed, and pack all objects of today's sources."""
        archive = Path(self.build_clib) / self.compiler.library_filename(CORE[0])
        archive.unlink(missing_ok=True)
        super().build_libraries(libraries)


class BuildWithLibrary(build_ext):
    """Put the static library of the core beside the modules, for packages that link it."""

    def run(self) -> None:
        """Build the modules, then copy the library."""
        super().run()
        source, target = self.library()
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)

    def library(self) -> tuple[Path, Path]:
        """Return where the library was built and where it goes."""
        built = Path(self.get_finalized_command("build_clib").build_clib)
        name = self.compiler.library_filename(CORE[0])
        package = Path() if self.inplace else Path(self.build_lib)
        return built / name, package / "prvcore" / "lib" / name

    def get_outputs(self) -> list[str]:
        """Return what was built, the library too."""
        return [*super().get_outputs(), str(self.library()[1])]


class ReproducibleSdist(sdist):
    """Of the same files the same bytes, where SOURCE_DATE_EPOCH says what time it is."""

    def make_archive(self, base_name: str, format: str, *args, base_dir=None, **kwargs) -> str:  # noqa: A002
        """Write the archive with that time and no owner."""
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        if epoch is None or format != "gztar":
            return super().make_archive(base_name, format, *args, base_dir=base_dir, **kwargs)

        def same(member: tarfile.TarInfo) -> tarfile.TarInfo:
            member.mtime = int(epoch)
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            return member

        path = f"{base_name}.tar.gz"
        with (
            Path(path).open("wb") as file,
            gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=int(epoch)) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            archive.add(base_dir, filter=same)
        return path


setup(
    version=version(),
    cmdclass={
        "build_clib": BuildLibrary,
        "build_ext": BuildWithLibrary,
        "sdist": ReproducibleSdist,
    },
    libraries=[CORE],
    ext_modules=cythonize(
        [
            extension("_core.status"),
            extension("_core.mechanism"),
            extension("_core.composition"),
            *(extension(f"stages.{name}") for name in STAGES),
            # pyfftw's pxd includes fftw3.h and numpy's headers; nothing of FFTW is linked.
            extension("_core.fft_plans", "src_c/pyfftw_build_stub", numpy.get_include()),
        ],
        build_dir="build/cython",
        cache="CYTHON_CACHE_DIR" in os.environ,
        compiler_directives={
            "language_level": 3,
            "boundscheck": False,
            "wraparound": False,
            "embedsignature": True,
            "freethreading_compatible": True,
        },
    ),
)
