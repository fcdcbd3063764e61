# SPDX-License-Identifier: Apache-2.0
"""The command line, started with `python -m sordino`."""

from sordino.cli.main import run

if __name__ == "__main__":
    run()
