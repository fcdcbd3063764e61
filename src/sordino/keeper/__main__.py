# SPDX-License-Identifier: Apache-2.0
"""``python -m sordino.keeper``: run the keeper by itself."""

import logging
import os
import sys

from sordino.keeper.main import main

if __name__ == "__main__":
    code = main()
    logging.shutdown()
    sys.stderr.flush()
    # Everything is closed by now. Python would take its modules apart while threads that wait for
    # clients still use them, and DuckDB would list on standard error what it finds in use.
    os._exit(code)
