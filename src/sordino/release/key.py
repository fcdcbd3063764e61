# SPDX-License-Identifier: Apache-2.0
"""The one key to sealed values; modules outside this room may not import it."""

from sordino.engine.sealed import take_key

KEY = take_key()
