#!/usr/bin/env python3
"""The script of query 4: lines of crawled pages in, `sourcePage<tab>destPage<tab>count` out.

A line that starts with `http` and has exactly five tokens between single spaces begins a new page, named by the first
token. Every match of `https?://[^\\s]+` on every line, the one that begins a page included, is a link. As in the
script that the benchmark published, the page's name is taken before the counts so far are written: they land on the
*next* page. What is left at the end lands on the last one, and without any page on the empty name.
"""

import re
import sys

LINK = re.compile(rb"https?://[^\s]+")


def main():
    out = sys.stdout.buffer
    page, counts = b"", {}

    def flush():
        out.writelines(b"%b\t%b\t%d\n" % (page, link, count) for link, count in counts.items())
        counts.clear()

    for line in sys.stdin.buffer:
        if line.startswith(b"http"):
            tokens = line.rstrip(b"\r\n").split(b" ")
            if len(tokens) == 5:
                page = tokens[0]
                flush()
        for link in LINK.findall(line):
            counts[link] = counts.get(link, 0) + 1
    flush()


if __name__ == "__main__":
    main()
