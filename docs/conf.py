"""Settings of the site: ``python -m sphinx -W -b html -c docs . site``.

The source folder is the checkout, so that links between pages, results and examples are the same on a code host.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "extensions"), str(HERE.parent)]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")]))
os.environ.setdefault("DGRAPH_COMPILE", "never")  # small graphs are answered by NumPy

import dgraph  # noqa: E402

project = "dgraph"
author = "the dgraph authors"
copyright = "the dgraph authors; Apache-2.0"
version = release = dgraph.__version__
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "benchmarks/results/*.md",
    "examples/*.ipynb",
]
exclude_patterns = ["docs/templates/**", "**/.ipynb_checkpoints"]
templates_path = ["templates"]
html_static_path = ["templates/site.css"]
html_css_files = ["site.css"]
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_nb", "executed_blocks", "register_pages"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # the notebooks are executed by pytest --nbmake, and kept with their outputs
highlight_language = "none"
suppress_warnings = ["myst.header"]  # a table of results may start at the third level
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say them
napoleon_use_ivar = True

html_theme = "pydata_sphinx_theme"
html_title = f"dgraph {release}"
html_additional_pages = {"index": "to_the_index.html"}
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "collapse_navigation": True,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
