"""Small workbooks, their XML replaced where openpyxl would not write it."""

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl


def workbook(path: Path, *sheets: Sequence[Sequence[Any]], replace: dict[str, str] | None = None):
    """A workbook with these rows in its sheets, `Sheet1` and so on."""
    book, file = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.active)
    for i, rows in enumerate(sheets, start=1):
        sheet = book.create_sheet(f"Sheet{i}")
        for row in rows:
            sheet.append(list(row))
    book.save(file)
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            text = old.read(name).decode()
            for before, after in (replace or {}).items():
                text = text.replace(before, after)
            new.writestr(name, text)
    return path
