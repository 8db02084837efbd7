"""Writes the workbooks of tests/workbooks.rs beside this file, and what openpyxl reads of them.

Needs openpyxl 3.1 and XlsxWriter 3: python write.py
"""

import datetime as dt
import json
import pathlib
import zipfile

import openpyxl
import xlsxwriter
from openpyxl.utils.datetime import CALENDAR_MAC_1904

HERE = pathlib.Path(__file__).parent


def save(book, name):
    book.save(HERE / name)


def types():
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Types"
    sheet.append(["number", "whole", "flag", "day", "moment", "clock", "word", "mixed", "none"])
    for i in range(4):
        sheet.append(
            [
                i + 0.5,
                i * 1000,
                i % 2 == 0,
                dt.date(2024, 2, 28 + i % 2),
                dt.datetime(2024, 2, 29, 13, 14, 15 + i),
                dt.time(13, 14, i),
                ["Ä é", "日本語", "a,b\n\"c\"", "🙂"][i],
                [7, "seven", 7.25, True][i],
                None,
            ]
        )
    sheet.append([None] * 6 + ["last"])
    other = book.create_sheet("Second sheet")
    other["C4"], other["D4"], other["C5"], other["D5"] = "x", "y", 1, 2
    other["C7"], other["D7"] = 3, "four"
    book.create_sheet("Empty")
    merged = book.create_sheet("Merged")
    merged.append(["a", "b"])
    merged.append(["both", None])
    merged.merge_cells("A2:B2")
    plain = book.create_sheet("Plain")
    plain.append([1, "x"])
    plain.append([2, "y"])
    twice = book.create_sheet("Twice")
    twice.append(["n", "n", None, "N"])
    twice.append([1, 2, 3, 4])
    save(book, "types.xlsx")


def epoch_1904():
    book = openpyxl.Workbook()
    book.epoch = CALENDAR_MAC_1904
    book.active.append(["day", "moment"])
    book.active.append([dt.date(1904, 1, 2), dt.datetime(1999, 12, 31, 23, 59, 59)])
    book.active.append([dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 0, 0, 1)])
    save(book, "epoch1904.xlsx")


def formulas():
    book = xlsxwriter.Workbook(HERE / "formulas.xlsx")
    sheet = book.add_worksheet("Sums")
    day = book.add_format({"num_format": "yyyy-mm-dd"})
    elapsed = book.add_format({"num_format": "[h]:mm:ss"})
    sheet.write_row(0, 0, ["a", "double", "text", "day", "took"])
    for row in range(1, 4):
        sheet.write_number(row, 0, row)
        sheet.write_formula(row, 1, f"=A{row + 1}*2", None, row * 2)
        sheet.write_formula(row, 2, f'="n" & A{row + 1}', None, f"n{row}")
        sheet.write_number(row, 3, [1, 59, 61][row - 1], day)
        sheet.write_number(row, 4, row * 0.75, elapsed)
    book.close()
    book = xlsxwriter.Workbook(HERE / "errors.xlsx")
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, ["a", "b"])
    sheet.write_row(1, 0, [1, 10])
    sheet.write_formula(2, 0, "=1/0", None, "#DIV/0!")
    sheet.write_number(2, 1, 20)
    sheet.write_row(3, 0, [3, 30])
    book.close()


def changed(name, new, change):
    """A copy of a workbook in which the text of its first sheet is changed."""
    with zipfile.ZipFile(HERE / name) as old, zipfile.ZipFile(HERE / new, "w", zipfile.ZIP_DEFLATED) as copy:
        for part in old.namelist():
            text = old.read(part)
            copy.writestr(part, change(text.decode()).encode() if part.endswith("sheet1.xml") else text)


def inline():
    book = xlsxwriter.Workbook(HERE / "inline.xlsx", {"constant_memory": True})
    sheet = book.add_worksheet()
    for row in range(20):
        sheet.write_row(row, 0, [f"text {row}" if row else "t", row if row else "n"])
    book.close()


def cover():
    book = openpyxl.Workbook()
    book.active.title = "Cover"
    data = book.create_sheet("Data")
    data.append(["n"])
    data.append([7])
    save(book, "cover.xlsx")


def expected(name, sheet, rows):
    book = openpyxl.load_workbook(HERE / name, data_only=True)
    found = [[None if v is None else str(v) for v in row] for row in book[sheet].iter_rows(values_only=True)]
    rows[f"{name}/{sheet}"] = found


types()
epoch_1904()
formulas()
inline()
cover()
changed(
    "types.xlsx",
    "dimension.xlsx",
    lambda text: text.replace('<dimension ref="A1:I6"/>', '<dimension ref="A1:XFD1048576"/>').replace(
        '<dimension ref="A1:I6" />', '<dimension ref="A1:XFD1048576" />'
    ),
)
rows = {}
for sheet in ["Types", "Second sheet", "Merged", "Plain", "Twice"]:
    expected("types.xlsx", sheet, rows)
expected("epoch1904.xlsx", "Sheet", rows)
expected("formulas.xlsx", "Sums", rows)
expected("inline.xlsx", "Sheet1", rows)
expected("cover.xlsx", "Data", rows)
(HERE / "openpyxl.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
