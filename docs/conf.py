"""Sphinx configuration. Build: sphinx-build -W -n docs OUTPUT, with prvcore[docs] installed."""

import shutil
import sys
from pathlib import Path

import prvcore

sys.path.append(str(Path(__file__).parent / "_extensions"))

project = "prvcore"
author = "The prvcore developers"
project_copyright = "the prvcore developers, BSD 3-Clause licence"
version = release = prvcore.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "mathml",  # of _extensions
    "myst_parser",  # for pages that are read on their own too, which are Markdown
    "numpydoc",
    "sphinx_copybutton",
]
templates_path = ["_templates"]
html_theme = "furo"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
# A button copies what is typed: no prompts, and nothing that is printed.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
html_title = f"prvcore {release}"

default_role = "autolink"  # `name` is a link where there is such a name, else emphasis
nitpick_ignore_regex = [
    # names of arguments and attributes, which are described where they stand
    ("py:obj", r"[a-z_]+|Calibration\.[a-z_]+"),
    ("py:.*", r"(dp_accounting|flwr|opacus)\..*"),
]
autodoc_typehints = "none"  # docstrings state types, shapes and ranges
autodoc_mock_imports = ["dp_accounting", "flwr", "opacus"]  # what the adapters adapt to; heavy
autosummary_generate = True
# what each class computes, by itself or by a private base; numpydoc's "Attributes" do not have it
autosummary_context = {
    "properties": {
        name: [
            member
            for base in reversed(cls.__mro__)
            if base is cls or base.__module__.startswith("prvcore._")
            for member, value in vars(base).items()
            if isinstance(value, property)
        ]
        for name, cls in ((name, getattr(prvcore, name)) for name in prvcore.__all__)
        if isinstance(cls, type)
    }
}
numpydoc_show_class_members = False  # the template lists them
numpydoc_class_members_toctree = False


def copy_calculator(app, error):
    """Copy the calculator beside the pages, with js/, whose core.wasm js/build.sh may have made."""
    if error is not None or app.builder.format != "html":
        return
    here, there = Path(__file__).parent, Path(app.outdir) / "calculator"
    shutil.copytree(here / "calculator", there, dirs_exist_ok=True)
    (there / "prvcore").mkdir(exist_ok=True)
    for name in ("index.js", "core.js", "mechanisms.js", "worker.js", "core.wasm"):
        file = here.parent / "js" / name
        if file.exists() or name != "core.wasm":
            shutil.copy2(file, there / "prvcore" / name)


def setup(app):
    """Let Sphinx do what follows its own work."""
    app.connect("build-finished", copy_calculator)
