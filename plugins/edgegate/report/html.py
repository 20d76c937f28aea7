"""What every part of report.html is made of."""

from collections.abc import Iterable, Sequence
from html import escape


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Return a table; cells are HTML already."""
    number = ["", ' class="number"']
    head = "".join(f"<th{number[at in numbers]}>{escape(column)}</th>" for at, column in enumerate(columns))
    body = "".join(
        f"<tr>{''.join(f'<td{number[at in numbers]}>{one}</td>' for at, one in enumerate(row))}</tr>" for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
