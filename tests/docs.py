"""Checks the pages of README.md and docs: no sentence has more than 25 words, and each link leads to what is there.

usage: docs.py [FILE…]
Code, tables, headings and quotes are left out of the first check. A code span is one word.
"""

import pathlib
import re
import sys

MOST = 25
SPAN = re.compile(r"``.*?``|`[^`]*`")
LINK = re.compile(r"!?\[([^\[\]]*)\]\(([^)\s]*)\)")
ROOT = pathlib.Path(__file__).parent.parent


def paragraphs(text: str):
    """The first line and the text of each paragraph and list item."""
    first, lines, is_code = 0, [], False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        bare = line.strip()
        is_fence = bare.startswith("```")
        is_code ^= is_fence
        item = re.match(r"([-*]|\d+\.) ", bare)
        is_prose = bare and not is_code and not is_fence and bare[0] not in "|#>"
        if lines and (item or not is_prose):
            yield first, " ".join(lines)
            lines = []
        if is_prose:
            first = first if lines else number
            lines.append(bare[item.end() :] if item else bare)


def sentences(text: str):
    return re.split(r"(?<=[.!?])(?:\*+|[)\"”])*\s+", LINK.sub(r"\1", SPAN.sub("CODE", text)))


def anchors(page: pathlib.Path) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", LINK.sub(r"\1", head).lower()).replace(" ", "-") for head in heads}


pages = [pathlib.Path(name).resolve() for name in sys.argv[1:]]
wrong = []
for page in pages or [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
    place = page.relative_to(ROOT)
    for line, text in paragraphs(page.read_text()):
        for sentence in sentences(text):
            words = re.findall(r"\S*\w\S*", sentence)
            if len(words) > MOST:
                wrong.append(f"{place}:{line}: {len(words)} words: {sentence}")
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    for _, link in LINK.findall(SPAN.sub("CODE", prose)):
        name, _, anchor = link.partition("#")
        there = (page.parent / name).resolve() if name else page
        if ":" not in link and (not there.exists() or anchor and anchor not in anchors(there)):
            wrong.append(f"{place}: nothing is at {link}")
print("\n".join(wrong) or "the documents have short sentences and whole links")
sys.exit(bool(wrong))
