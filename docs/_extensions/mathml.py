"""Mathematics as MathML in the page itself, which a browser shows without a network or a script."""

import html

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def written(node, as_block):
    """Return a formula as MathML; one that is not understood is a warning, and stays as it is."""
    tex = node.astext().replace(r"\dots", r"\ldots")  # which docutils knows
    try:
        return tex2mathml(tex, as_block=as_block)
    except MathError as error:
        logger.warning("%s in the formula %s", error, tex, location=node)
        return f"<code>{html.escape(tex)}</code>"


def visit_inline(translator, node):
    """Write a formula within a line."""
    translator.body.append(written(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator, node):
    """Write a formula that stands by itself."""
    translator.body.append(f'<div class="math-block">{written(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app):
    """Register the renderer, which `html_math_renderer` names."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
