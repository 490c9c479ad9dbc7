"""How a table is to be read, where that is not left to what the file shows."""

from dataclasses import dataclass, fields

from pmcnet.errors import InputError

ENCODINGS = ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252")
DECIMALS = (".", ",")
_DELIMITER_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|"}


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """What the caller knows of a table; what is empty is found out.

    Args:
        delimiter: between the fields of text, one character, or "tab".
        decimal: "." or ",", the mark before the decimals of numbers in text.
        encoding: of text, one of `ENCODINGS`; UTF-16 is found by its byte order mark alone.
        sheet: of a workbook, its name, or its number from 1.
        sql: one SELECT statement; the table is then named by the URL of a database.
    """

    delimiter: str = ""
    decimal: str = ""
    encoding: str = ""
    sheet: str = ""
    sql: str = ""

    def __post_init__(self) -> None:
        delimiter = _DELIMITER_WORDS.get(self.delimiter, self.delimiter)
        object.__setattr__(self, "delimiter", delimiter)
        if delimiter and not _may_delimit(delimiter):
            raise InputError(
                "delimiter must be one character that is no letter, digit, quote, sign or line "
                f"end, such as , ; | or tab; got {delimiter!r:.40}. Leave it out to have it found."
            )
        for name, allowed in (("decimal", DECIMALS), ("encoding", ENCODINGS)):
            value = getattr(self, name)
            if value and value not in allowed:
                raise InputError(
                    f"{name} must be one of {' '.join(allowed)}; got {value!r:.40}. Leave it out "
                    "to have it found."
                )

    def check(self, takes: tuple[str, ...], what: str) -> None:
        """Refuse settings that do not belong to a table.

        Args:
            takes: the settings that do.
            what: the table, as in "rows.parquet is a Parquet file".
        """
        other = [item.name for item in fields(self) if getattr(self, item.name)]
        wrong = next((name for name in other if name not in takes), None)
        if wrong is not None:
            takes_ = ", ".join(takes) or "no such setting"
            raise InputError(f"{what} and has no {wrong}; it takes {takes_}. Leave {wrong} out.")


def _may_delimit(text: str) -> bool:
    return len(text) == 1 and text.isascii() and not text.isalnum() and text not in "\"'.+-\r\n\0"
