# SPDX-License-Identifier: Apache-2.0
"""Auditing: does a mechanism, ours or anybody's, lose more privacy than it promises?"""

from typing import TYPE_CHECKING

__all__ = [
    "Finding",
    "Replayed",
    "Report",
    "Universe",
    "Verified",
    "assert_private",
    "audit",
    "batched",
    "replay",
    "replay_question",
    "verify_gaussian",
    "verify_law",
]

if TYPE_CHECKING:
    from sordino.auditing.assertion import assert_private
    from sordino.auditing.blackbox.auditor import audit
    from sordino.auditing.blackbox.pairs import Universe
    from sordino.auditing.blackbox.runner import batched
    from sordino.auditing.exact import Verified, verify_gaussian, verify_law
    from sordino.auditing.questions import replay_question
    from sordino.auditing.replays.differences import Finding
    from sordino.auditing.replays.recording import Replayed, replay
    from sordino.auditing.report import Report
else:
    _HOMES = {
        "Finding": "replays.differences",
        "Replayed": "replays.recording",
        "Report": "report",
        "Universe": "blackbox.pairs",
        "Verified": "exact",
        "assert_private": "assertion",
        "audit": "blackbox.auditor",
        "batched": "blackbox.runner",
        "replay": "replays.recording",
        "replay_question": "questions",
        "verify_gaussian": "exact",
        "verify_law": "exact",
    }

    def __getattr__(name):
        """Load a name when it is first used, so that a pytest plugin costs nothing at start."""
        from importlib import import_module

        if name not in _HOMES:
            raise AttributeError(f"module 'sordino.auditing' has no attribute {name!r}")
        value = getattr(import_module(f"sordino.auditing.{_HOMES[name]}"), name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted(__all__)
