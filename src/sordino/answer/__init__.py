# SPDX-License-Identifier: Apache-2.0
"""The answer to a question, and how it is shown, kept and handed on."""

from sordino.answer.answer import Answer, Cell, Column

__all__ = ["Answer", "Cell", "Column"]
