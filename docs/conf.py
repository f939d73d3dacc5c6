"""Settings of the site, which ``make docs`` builds; its source is the folder of the repository, so that links hold."""

from __future__ import annotations

import sys
from pathlib import Path

import clarysage

SITE = Path(__file__).parent / "site"
sys.path.insert(0, str(SITE))

project = "clarysage"
author = copyright = "The clarysage authors"
version = release = clarysage.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "api",
    "formulas",
    "links",
    "terms",
    "blocks",
]
root_doc = "docs/site/index"
include_patterns = ["docs/**", "*.md", "experiments/*.md", "experiments/results/practical/**"]
exclude_patterns = [
    ".*",
    "build",
    "dist",
    "src",
    "tests",
    "benchmarks",
    "docs/_build",
    "docs/gallery",
    "docs/site/autosummary",
]
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
nitpicky = True
# docstrings point into the source, too, which has no pages
nitpick_ignore_regex = [("py:.*", r"clarysage\.[a-z_]+\..+")]
autosummary_generate = ["docs/api/index.rst"]
autodoc_typehints = "none"  # docstrings say what arguments are
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "docs/gallery",
    "gallery_dirs": "docs/examples",
    "filename_pattern": r"\.py",  # all are run
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": ("_repr_html_",),  # results are shown as in a notebook
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 3600,  # seconds differ from build to build
}

html_theme = "pydata_sphinx_theme"
html_title = "clarysage"
html_math_renderer = "mathml"
html_additional_pages = {"index": "redirect.html"}  # where people look first
templates_path = [str(SITE)]
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_static_path = ["site/wide.css"]
html_css_files = ["wide.css"]
html_copy_source = False
html_show_search_summary = False  # which scripts would fetch: browsers forbid it where pages are read from disk
html_show_sphinx = False
html_theme_options = {
    "logo": {"text": "clarysage"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
