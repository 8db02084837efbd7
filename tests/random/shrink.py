"""Makes a statement smaller as long as something stays true of it."""

import time

from tree import Many, Maybe, Node, places

#: The most tries, and seconds.
TRIES, SECONDS = 1500, 20


def shrink(tree, holds):
    """The smallest statement that is found of which `holds(text)` is true, as it is of `tree`, which is changed."""
    root = Node("", tree)
    tried, end = set(), time.monotonic() + SECONDS
    changed = True
    while changed:
        changed = False
        for around, i in list(places(root)):
            piece = around.parts[i] if i < len(around.parts) else None
            if not isinstance(piece, Node) or not still_there(root, around):
                continue
            before = len(str(piece))
            for other in piece.alternatives():
                if len(str(other)) >= before:
                    continue
                around.parts[i] = other
                text = str(root)
                if text not in tried and len(tried) < TRIES and time.monotonic() < end:
                    tried.add(text)
                    if holds(text):
                        changed = True
                        break
                around.parts[i] = piece
    return root


def still_there(root, node):
    return root is node or any(node is around for around, _ in places(root))


def with_values(tree, tables):
    """The statement with its tables written into it."""
    text = str(tree)
    used = [table.inline() for table in tables if f"{table.name} " in text]
    if not used:
        return tree
    if tree.parts and isinstance(tree.parts[0], Maybe):
        with_, names, space = tree.parts[0].parts
        return Node("", with_, Many(used, least=0), Maybe(", ", names), space, *tree.parts[1:])
    return Node("", "WITH ", Many(used), " ", tree)
