"""A bar chart as SVG: for each query a group of bars, one an engine, each group with its own scale."""

from html import escape

COLOURS = {
    "palais parquet": "#1b7f5c",
    "palais buren": "#5fb58e",
    "palais csv": "#a6d8bf",
    "duckdb": "#d9a400",
    "polars": "#3d7dca",
    "datafusion": "#c8553d",
}
WIDTH, LEFT, RIGHT, BAR, GAP, HEAD = 860, 190, 90, 16, 18, 64


def chart(title, subtitle, groups):
    """`groups`: (name of the query, [(name of the engine, seconds), ...])."""
    room = WIDTH - LEFT - RIGHT
    body, y = [], HEAD
    for name, bars in groups:
        longest = max(seconds for _, seconds in bars)
        body.append(text(12, y + BAR * len(bars) / 2 + 5, name, 15, weight="bold"))
        for engine, seconds in bars:
            width = max(1.0, room * seconds / longest)
            colour = COLOURS.get(engine.removesuffix(" csv") if engine not in COLOURS else engine, "#888888")
            body.append(text(LEFT - 8, y + BAR - 4, engine, 12, anchor="end"))
            body.append(f'<rect x="{LEFT}" y="{y:.0f}" width="{width:.1f}" height="{BAR - 3}" fill="{colour}"/>')
            body.append(text(LEFT + width + 6, y + BAR - 4, f"{seconds:.3g} s", 12))
            y += BAR
        y += GAP
    head = [text(12, 26, title, 18, weight="bold"), text(12, 46, subtitle, 12)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y:.0f}" viewBox="0 0 {WIDTH} {y:.0f}" '
            'font-family="sans-serif">',
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            *head,
            *body,
            "</svg>",
            "",
        ]
    )


def text(x, y, words, size, anchor="start", weight="normal"):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" '
        f'fill="#222222">{escape(words)}</text>'
    )
