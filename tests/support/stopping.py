# SPDX-License-Identifier: Apache-2.0
"""What runs beside a test, and is stopped when its context is left."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Stopping(ABC):
    """Something that runs until it is stopped, at the end of a with block for one."""

    @abstractmethod
    def stop(self) -> None:
        """End it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
