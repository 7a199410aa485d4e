"""Sphinx configuration: `make docs`.

The source folder is the repository itself, so that pages stay where they belong, beside the code they are about, and
their links to one another hold in both places. `docs/` holds what is a page of the site only.
"""

from binalloc.version import VERSION

project = "binalloc"
copyright = "the binalloc authors"
version = release = VERSION

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/*.md", "docs/*/*.md", "binalloc/**/*.md", "samples/README.md"]
myst_heading_anchors = 4

# Docstrings put code between single backticks.
default_role = "code"
highlight_language = "text"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = f"binalloc {VERSION}"
# The root page lies in docs/: a page in its place leads there.
html_extra_path = ["root"]
html_show_sphinx = False
