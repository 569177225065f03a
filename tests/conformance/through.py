"""What the suite runs as "the client": a gateway in front of the suite's server, and a client on the official SDK that speaks
to it. The suite appends its server's URL.
    through.py sallyport=PATH SCENARIO URL
"""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from gateway import PROGRAMS, Case, environment
from suite_test import HERE, NODE, files


def main():
    program, scenario, url = sys.argv[1:]
    PROGRAMS["sallyport"] = program.split("=", 1)[1]
    case = Case()
    case.setUp()
    try:
        gateway = case.gateway(**files(url)).start()
        mount = "http://%s/servers/suite/mcp" % gateway.address
        told = {name: os.environ[name] for name in ("MCP_CONFORMANCE_CONTEXT",) if name in os.environ}
        done = subprocess.run([NODE, HERE / "client.mjs", scenario, mount], env=environment(**told), check=False, timeout=100)
        return done.returncode
    finally:
        case.doCleanups()


if __name__ == "__main__":
    sys.exit(main())
