# SPDX-License-Identifier: Apache-2.0
"""Differential privacy with exact integer noise."""

from typing import TYPE_CHECKING

__all__ = ["Gaussian", "Laplace", "__version__"]

__version__ = "0.1.0"

if TYPE_CHECKING:
    from sordino.mechanisms import Gaussian, Laplace
else:

    def __getattr__(name):
        """Load a mechanism when it is first used, so that `import sordino` stays fast."""
        if name not in __all__:
            raise AttributeError(f"module 'sordino' has no attribute {name!r}")
        from sordino import mechanisms

        value = globals()[name] = getattr(mechanisms, name)
        return value

    def __dir__():
        return sorted(__all__)
