"""The glossary: every term that a lesson sets in bold, with the definition that the lesson's header gives."""

from __future__ import annotations

from nbformat import NotebookNode

from notebooks.source import BuildError

HEAD = """\
# Glossary

Each word in one sentence, and the lesson that shows what it means.
<!-- made by `python scripts/build` -->

"""


def glossary(lessons: dict[str, NotebookNode]) -> str:
    """The text of lessons/GLOSSARY.md. Raises BuildError for a term that two lessons define."""
    home: dict[str, str] = {}
    entries = []
    for name, nb in sorted(lessons.items()):
        for term, meaning in nb.metadata.minigrad.get("terms", {}).items():
            if term.lower() in home:
                raise BuildError(f"{name}: the term {term!r} is already defined in {home[term.lower()]}: use bold "
                                 "only there")  # fmt: skip
            home[term.lower()] = name
            entries.append(
                (
                    term.lower(),
                    f"**{term}**: {meaning[0].upper()}{meaning[1:]}. [{name.partition('_')[0]}]({name}.ipynb)\n",
                )
            )
    return HEAD + "\n".join(text for _, text in sorted(entries))
