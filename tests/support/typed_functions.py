"""Write the declarations of typed functions into ``dgraph/__init__.py``; run it when algorithms change.

``python tests/support/typed_functions.py``; ``tests/engine/test_api.py`` compares them with the register.
"""

import re
import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).resolve().parents[2] / "dgraph" / "__init__.py"


def rewritten(text):
    """Return the text of the module with the declarations, names and aliases of all registered algorithms."""
    from dgraph.algorithms import ALGORITHMS
    from dgraph.algorithms.signatures import declaration

    lines = [f"    {declaration(ALGORITHMS[name])}\n" for name in sorted(ALGORITHMS)]
    aliases = dict(sorted(ALGORITHMS.aliases.items()))
    lines += [f"    {alias} = {name}\n" for alias, name in aliases.items()]
    first, last = text.index("    def "), text.index("\nHOMES")
    text = text[:first] + "".join(lines) + "\n" + text[last:]
    text = re.sub(r"ALIASES = \{[^}]*\}", f"ALIASES = {aliases}", text)
    return re.sub(r"FUNCTIONS = \([^)]*\)", f"FUNCTIONS = {tuple(sorted(ALGORITHMS))}", text)


if __name__ == "__main__":
    sys.path.insert(0, str(FILE.parents[1]))
    FILE.write_text(rewritten(FILE.read_text()))
    subprocess.run([sys.executable, "-m", "ruff", "format", "-q", FILE], check=True)
