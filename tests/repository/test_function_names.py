"""Functions and classes are named by verbs or by nouns of the field: `draw`, `backward`, `Tracer`.

A bare participle such as `drawn` says neither what is done nor what comes out, and cannot be searched for.
"""

import ast
import re
from collections import Counter

from tests.support.root import ROOT

AT_MOST = 28  # of minigrad/, methods included: public names, and names in saved files
IRREGULAR = """
begun bound broken brought built called caught chosen done drawn driven felt found forbidden given gone grown heard held
hidden kept known laid left led lent lost made meant met paid said seen sent shown spent spoken stood taken thought
thrown told torn understood won worn woven written
""".split()  # noqa: SIM905  (it is read as lines)
OTHER = {"bed", "embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed", "succeed"}


def is_bare_participle(name):
    word = name.strip("_").lower()
    return word in IRREGULAR or (re.fullmatch(r"[a-z]+ed", word) is not None and word not in OTHER)


def bare_participles(text):
    """The names of functions, methods and classes of a source that are one participle and no more."""
    named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return [one.name for one in ast.walk(ast.parse(text)) if isinstance(one, named) and is_bare_participle(one.name)]


def test_bare_participles_become_fewer():
    paths = [path for path in (ROOT / "minigrad").rglob("*.py") if "_course" not in path.parts]
    names = Counter(name for path in paths for name in bare_participles(path.read_text("utf-8")))

    assert names.total() <= AT_MOST, f"the commonest: {names.most_common(20)}; name a function by a verb or a noun"
    assert names.total() > AT_MOST - 5, f"{names.total()} are left: lower AT_MOST"


def test_what_a_bare_participle_is():
    names = "drawn", "_told", "Seen", "draw", "feed", "is_drawn", "read"

    assert bare_participles("".join(f"def {name}(): ...\n" for name in names)) == ["drawn", "_told", "Seen"]
