"""A hook of MkDocs: blocks fenced as ``math`` hold LaTeX and become MathML, without any script."""

from __future__ import annotations

import re

from latex2mathml.converter import convert

_BLOCK = re.compile(r"^```math\n(.*?)^```$", flags=re.M | re.S)


def on_page_markdown(markdown: str, **_: object) -> str:
    """Return the page with its formulas typeset."""
    return _BLOCK.sub(
        lambda block: f'<div class="formula">{convert(block[1].strip(), display="block")}</div>',
        markdown,
    )
