# SPDX-License-Identifier: Apache-2.0
"""Asking a server: the methods of a session, over HTTP."""
