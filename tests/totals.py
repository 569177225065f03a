#!/usr/bin/env python3
"""Reads a JUnit report of ctest; prints `passed failed skipped`, then the name of each failed test on a line."""
import sys
import xml.etree.ElementTree as tree

passed, skipped, failed = 0, 0, []
for case in tree.parse(sys.argv[1]).getroot().iter("testcase"):
    status, skip = case.get("status"), case.find("skipped")
    if status == "run":
        passed += 1
    # A test whose program is missing is "notrun" too, with another message: that is a failure.
    elif status == "disabled" or skip is not None and skip.get("message", "").startswith("SKIP_"):
        skipped += 1
    else:
        failed.append(case.get("name", "?"))
print(passed, len(failed), skipped)
print("\n".join(failed), end="")
