"""The tables of docs/migration.rst: what a call of another library is called here."""

import re

from tests.support.checkout import ROOT

__all__ = ["SETTING", "events_as_shown", "shown_events", "tables"]

PAGE = ROOT / "docs" / "migration.rst"
# The names that the cells of the tables use.
SETTING = {
    "s": 1.1,
    "q": 256 / 60_000,
    "n": 60_000,
    "k": 1000,
    "mu": 0.5,
    "epsilon": 1.0,
    "delta": 1e-5,
}


def tables():
    """Return the rows (their call, our call) of each table by the name of the library."""
    text = PAGE.read_text("utf-8")
    found = {}
    for block in re.split(r"^\.\. list-table:: ", text, flags=re.MULTILINE)[1:]:
        title = block.split("\n", 1)[0]
        rows = re.findall(r"^   \* - ``(.+)``\n     - ``(.+)``$", block, re.MULTILINE)
        found[title] = rows
    return found


def shown_events():
    """Return the lines of the table of events of the page."""
    block = PAGE.read_text("utf-8").partition(".. list-table:: Events")[2]
    return re.findall(r"^   \* - (\w+DpEvent|DpEvent)\n     - (.+)$", block, re.MULTILINE)


def events_as_shown(rows):
    """Return the same lines of the rows that the adapter has."""
    shown = []
    for row in rows:
        if row.mechanism == "refused":
            text = f"refused: {next(iter(row.refused.values()))}"
        else:
            reasons = "; ".join(f"{relation.name}: {why}" for relation, why in row.refused.items())
            text = row.mechanism + (f" ({reasons})" if reasons else "")
        shown.append((row.event, text))
    return shown
