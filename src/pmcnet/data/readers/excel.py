"""Tables in Excel workbooks, read by openpyxl, an optional library.

The first row that is not blank names the columns. Formulas are never evaluated: a cell has the
value that was stored when the workbook was last saved. Where none is stored it is missing, and a
column of such cells alone is refused. Error values such as #N/A are missing.
"""

import io
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pmcnet.data.readers.base import MOST_COLUMNS, Reader, check_names, check_some_rows
from pmcnet.data.readers.cells import listed
from pmcnet.data.readers.checksums import DAMAGE
from pmcnet.data.readers.compression import MOST_RATIO, SMALL, is_workbook
from pmcnet.data.readers.options import ReadOptions
from pmcnet.data.readers.values import ValueTable, word
from pmcnet.errors import InputError
from pmcnet.io.files import one_line

_BLOCK = 1 << 20
_MOST_ROWS = 1 << 20
_DOCTYPES = (b"<!DOCTYPE", "<!DOCTYPE".encode("utf-16-le"), "<!DOCTYPE".encode("utf-16-be"))
_FORMULAS = (b"<f>", b"<f ")
_SHEETS = "xl/worksheets/"


@dataclass(frozen=True, kw_only=True)
class Sheet(ValueTable):
    """A sheet of a workbook whose header is known."""

    path: Path
    cells: Any  # a sheet of openpyxl, whose rows may be iterated again and again
    first_column: int  # position of that of the first name

    def rows(self) -> Iterator[list[Any]]:
        """The rows below the header that are not blank."""
        stop = self.first_column + len(self.names)
        rows = _rows(self.path, self.cells)
        next(rows)
        for number, row in enumerate(rows, start=1):
            if any(cell is not None for cell in (*row[: self.first_column], *row[stop:])):
                raise InputError(
                    f"row {number} of {self.where} (the header not counted) has a cell beside the "
                    "named columns. Name every column in the first row, or clear the cell."
                )
            part = row[self.first_column : stop]
            yield part + [None] * (len(self.names) - len(part))


@dataclass(frozen=True, kw_only=True)
class Excel(Reader):
    """Excel workbooks."""

    def opened(self, path: Path, asked: ReadOptions) -> Sheet:
        """Find the sheet and its header."""
        with _explained(path):
            has_formulas = _checked_content(path)
            book = _book(path, values=True)
            sheet = _chosen(book, asked.sheet, path)
            header = next(_rows(path, sheet), [])
            first = next((i for i, cell in enumerate(header) if cell is not None), 0)
            names = tuple("" if cell is None else str(cell).strip() for cell in header[first:])
            where = f"{path} (sheet {sheet.title!r})"
            if not names:
                raise InputError(
                    f"{where} is empty. A table needs a row of names and at least one more."
                )
            check_names(names, where)
            found = Sheet(
                where=where,
                place=str(path.resolve()),
                names=names,
                understood=(f"sheet {sheet.title!r}",),
                n_bytes=path.stat().st_size,
                path=path,
                cells=sheet,
                first_column=first,
            )
            check_some_rows(sum(1 for _, _ in zip(found.rows(), range(1), strict=False)), where)
            if has_formulas:
                _check_formulas(found, _book(path, values=False)[sheet.title])
            return found

    def recognises(self, path: Path) -> bool:
        """Whether a workbook is in it."""
        return is_workbook(path)


EXCEL = Excel(name="Excel", suffixes=(".xlsx", ".xlsm"), takes=("sheet",))


def _book(path: Path, *, values: bool) -> Any:
    """The workbook, of formulas either the stored values or the text."""
    import openpyxl  # type: ignore[import-untyped]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and extensions, which say nothing of cells
        content = io.BytesIO(path.read_bytes())  # a path would have to end in .xlsx
        return openpyxl.load_workbook(content, read_only=True, data_only=values, keep_links=False)


def _chosen(book: Any, asked: str, path: Path) -> Any:
    """The sheet of that name or number, the first one where none is asked for."""
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    titles = tuple(sheets)
    if not sheets:
        raise InputError(f"{path} has no sheet with cells. Save one, or give another workbook.")
    number = int(asked) if asked.isdecimal() and len(asked) < 6 else 0
    if asked in sheets or not asked:
        return sheets[asked or titles[0]]
    if not 1 <= number <= len(titles):
        raise InputError(
            f"{path} has no sheet {asked!r:.60}; it has {listed(titles)}. Give one of these names, "
            f"or a number from 1 to {len(titles)}."
        )
    return sheets[titles[number - 1]]


def _rows(path: Path, sheet: Any) -> Iterator[list[Any]]:
    """The rows that are not blank, as lists of values."""
    sheet.reset_dimensions()  # what the file says of its size is not to be trusted
    with _explained(path):
        for number, row in enumerate(sheet.iter_rows(), start=1):
            if number > _MOST_ROWS or len(row) > MOST_COLUMNS:
                raise InputError(
                    f"{path} has cells beyond {MOST_COLUMNS} columns or {_MOST_ROWS} rows. Clear "
                    "those, or save the sheet as CSV."
                )
            if any(cell.value not in (None, "") for cell in row):
                values = (None if cell.data_type == "e" else word(cell.value) for cell in row)
                yield [None if value == "" else value for value in values]


def _checked_content(path: Path) -> bool:
    """Refuse what would unpack to too much, and entities; whether some sheet has formulas."""
    has_formulas = False
    with zipfile.ZipFile(path) as archive:
        n_bytes = sum(member.file_size for member in archive.infolist())
        if n_bytes > max(SMALL, MOST_RATIO * path.stat().st_size):
            raise InputError(
                f"{path} unpacks to more than {MOST_RATIO} times its size, as a trap would. If it "
                "is none, save the sheet as CSV."
            )
        for member in archive.infolist():
            end = b""
            with archive.open(member) as content:
                while block := content.read(_BLOCK):
                    block, end = end + block, block[-32:]
                    if any(word in block for word in _DOCTYPES):
                        raise InputError(
                            f"{path} defines entities, which no workbook does. Save it again."
                        )
                    if member.filename.startswith(_SHEETS):
                        has_formulas |= any(word in block for word in _FORMULAS)
    return has_formulas


def _check_formulas(sheet: Sheet, texts: Any) -> None:
    """Refuse a column of formulas of which no cell has a value."""
    stop = sheet.first_column + len(sheet.names)
    formulas, known = [0] * len(sheet.names), [0] * len(sheet.names)
    with _explained(sheet.path):
        sheet.cells.reset_dimensions()
        texts.reset_dimensions()
        for row, values in zip_longest(texts.iter_rows(), sheet.cells.iter_rows(), fillvalue=()):
            for i, cell in enumerate(row[sheet.first_column : stop]):
                formulas[i] += cell.data_type == "f"
            for i, cell in enumerate(values[sheet.first_column : stop]):
                known[i] += cell.value is not None
    for name, n_formulas, n_known in zip(sheet.names, formulas, known, strict=True):
        if n_formulas and n_known <= 1:  # the name
            raise InputError(
                f"column {name!r:.60} of {sheet.where} has formulas whose values were never "
                "stored, and formulas are not evaluated. Open it in a spreadsheet, save it, and "
                "give that; or write values."
            )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """What openpyxl refuses, and its absence, as errors of this package."""
    try:
        import openpyxl  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"{path} is an Excel file, and openpyxl, which reads those, is not installed. Run: pip "
            "install 'pmcnet[excel]', or save the sheet as CSV."
        ) from error
    try:
        yield
    except InputError:
        raise
    except (*DAMAGE, AssertionError) as error:
        raise InputError(
            f"{path} is not whole as an Excel workbook ({one_line(error, 200)}). Copy it or save "
            "it again; a workbook with a password, or of Excel before 2007, is to be saved as "
            ".xlsx."
        ) from error
