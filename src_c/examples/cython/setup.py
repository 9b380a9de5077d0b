"""What a package needs to compile and link against an installed prvcore."""

import sys

from Cython.Build import cythonize
from setuptools import Extension, setup

import prvcore

setup(
    ext_modules=cythonize(
        Extension(
            "dp_epsilon",
            ["dp_epsilon.pyx"],
            include_dirs=[prvcore.get_include()],
            library_dirs=[prvcore.get_library_dir()],
            libraries=["prvcore", "m"] if sys.platform != "win32" else ["prvcore"],
        ),
        language_level=3,
    )
)
