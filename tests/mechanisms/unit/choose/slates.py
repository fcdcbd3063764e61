# SPDX-License-Identifier: Apache-2.0
"""Reading candidates and scores in tests."""

from typing import Any

from sordino.mechanisms.choose.candidates import Slate, read_slate
from sordino.mechanisms.choose.scores import one_by_one, read_scores


def slate(
    candidates: Any,
    scores: Any = None,
    *,
    domain_size: Any = None,
    default_score: Any = 0,
    public_domain: bool = False,
    listed: bool = False,
) -> Slate:
    return read_slate(
        candidates,
        scores,
        domain_size=domain_size,
        default_score=default_score,
        public_domain=public_domain,
        listed=listed,
    )


def read(found: Slate) -> dict[Any, int]:
    """The score of each listed candidate."""
    scores = one_by_one(read_scores(found.scores, others=found.others))
    return {found.candidate(index): int(score) for index, score in enumerate(scores)}
