# SPDX-License-Identifier: Apache-2.0
"""Asking a server: the methods of a session, over HTTP."""

from sordino.remote.connecting import connect
from sordino.remote.session import RemoteSession

__all__ = ["RemoteSession", "connect"]
