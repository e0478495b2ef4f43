"""Pages of the documentation: their names in test ids, and the anchors of their headings."""

import re

from children import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")), *PAGES]
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def name(path):
    """Return the name of a text in test ids."""
    return str(path.relative_to(ROOT))


def slug(heading):
    """Return the anchor that GitHub gives a heading."""
    text = re.sub(r"[`*]|\[|\]\([^)]*\)", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path):
    return {slug(line.lstrip("#")) for line in FENCED.sub("", path.read_text()).splitlines() if line.startswith("#")}
