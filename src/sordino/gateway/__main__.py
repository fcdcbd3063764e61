# SPDX-License-Identifier: Apache-2.0
"""`python -m sordino.gateway`: a gateway by itself, as systemd and the supervisor start it."""

from sordino.gateway.main import main

if __name__ == "__main__":
    main()
