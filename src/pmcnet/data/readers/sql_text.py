"""Which SQL is accepted: one statement that reads."""

import re

from pmcnet.errors import InputError

_SKIPPED = re.compile(
    r"""--[^\n]*            # comments
    |/\*(?!!).*?\*/        # but not those that MySQL runs
    |'(?:[^']|'')*'         # strings
    |"(?:[^"]|"")*"         # names in quotes
    |`[^`]*`
    """,
    re.VERBOSE | re.DOTALL,
)
_WRITING = re.compile(r"\b(?:delete|insert|into|merge|update)\b|/\*!", re.IGNORECASE)
_READING = re.compile(r"\s*\(*\s*(?:select|with)\b", re.IGNORECASE)


def check_reads(sql: str) -> None:
    """Refuse more than one statement, and any that is not SELECT or WITH ... SELECT.

    Strings, comments and names in quotes may hold anything.
    """
    bare = _SKIPPED.sub(" '' ", sql).rstrip().removesuffix(";")
    if _READING.match(bare.replace("''", " ")) is None:
        raise InputError(
            f"sql must be one SELECT statement, or WITH ... SELECT; got {sql.strip()!r:.60}. "
            "Nothing else is run."
        )
    if ";" in bare:
        raise InputError(
            "sql must be one SELECT statement; got several, with ; between them. Give one."
        )
    found = _WRITING.search(bare)
    if found is not None:
        raise InputError(
            f"sql must only read; it holds the word {found.group().upper()}. Put quotes around it "
            'if it is a name ("update"), or give a SELECT statement without it.'
        )
