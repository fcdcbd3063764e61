# SPDX-License-Identifier: Apache-2.0
"""The prompt of `sordino repl`."""
