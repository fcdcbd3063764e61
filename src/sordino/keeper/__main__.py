# SPDX-License-Identifier: Apache-2.0
"""``python -m sordino.keeper``: run the keeper by itself."""

import sys

from sordino.keeper.main import main

if __name__ == "__main__":
    sys.exit(main())
