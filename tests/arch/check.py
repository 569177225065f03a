#!/usr/bin/env python3
"""Checks the tree's structure: check.py [--root FOLDER] [RULE…]; the rules are in rules.py."""
import argparse
import pathlib
import subprocess
import sys

import rules


class Tree:
    """The files that git knows of, or all where there is no git; each is read once."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.kept = {}

    def paths(self):
        if (self.root / ".git").exists():
            out = subprocess.run(["git", "ls-files", "-z"], cwd=self.root, capture_output=True, text=True, check=True).stdout
            names = [name for name in out.split("\0") if name]
        else:
            names = [str(path.relative_to(self.root)) for path in self.root.rglob("*") if "build" not in path.parts]
        return sorted(name for name in names if (self.root / name).is_file())

    def texts(self):
        for name in self.paths():
            if name not in self.kept:
                try:
                    self.kept[name] = (self.root / name).read_text(encoding="utf-8")
                except UnicodeDecodeError:
                    self.kept[name] = None  # pictures, recorded bytes
            if self.kept[name] is not None:
                yield name, self.kept[name]

    def cpp(self):
        return ((name, text) for name, text in self.texts() if name.endswith((".cpp", ".hpp")))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("rules", nargs="*", metavar="RULE", help=", ".join(rules.ALL))
    arguments = parser.parse_args()
    unknown = [name for name in arguments.rules if name not in rules.ALL]
    if unknown:
        parser.error(f"no such rule: {', '.join(unknown)}")
    tree = Tree(arguments.root)
    if not any(tree.cpp()):
        sys.exit("no C++ file found: nothing was checked")
    faults = [fault for name in arguments.rules or rules.ALL for fault in rules.ALL[name](tree)]
    for path, line, message in faults:
        print(f"{path}:{line}: {message}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
