# SPDX-License-Identifier: Apache-2.0
"""An audit as an assertion, for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from sordino.auditing.report import Report

RUNS = 100_000
MIN_RUNS = 400  # As for every audit; this file is loaded with pytest, and loads nothing else.
CONFIDENCE = 0.999999  # One false alarm in a million tests.
_OPTIONS = ("runs", "confidence", "batch", "search", "universe", "time", "progress")


class _Unset:
    """What stands for an argument that was not given, where None may be data."""

    def __repr__(self) -> str:
        return "the mechanism's own"


UNSET = _Unset()


def assert_private(
    mechanism: Callable[..., Any],
    x: Any = UNSET,
    y: Any = UNSET,
    *,
    epsilon: float = 1.0,
    delta: float = 0.0,
    runs: int = RUNS,
    confidence: float = CONFIDENCE,
    **options: Any,
) -> Report:
    """Fail if an audit shows that a mechanism loses more than it promises.

    `x` and `y` are two neighbours. Without them it takes the pair that the mechanism has as its
    attribute `neighbours`, or 0 and 1 if it has none. Other options go to `audit`. A correct
    mechanism fails with a probability of at most 1 - `confidence`; one that passes may still be
    broken.
    """
    from sordino.auditing import audit as run  # numpy and scipy are loaded only here
    from sordino.auditing.blackbox.runner import AlwaysRaisesError

    __tracebackhide__ = True  # pytest shows the line that asked
    for name in options:
        if name not in _OPTIONS:
            known = ", ".join(_OPTIONS)
            raise TypeError(f"assert_private() takes no {name!r}; it takes epsilon, delta, {known}")
    guessed = x is UNSET and not hasattr(mechanism, "neighbours") and not options.get("search")
    if not (options.get("search") and x is UNSET and y is UNSET):
        x, y = _neighbours(mechanism, x, y)
        options |= {"x": x, "y": y}
    try:
        report = run(
            mechanism, epsilon=epsilon, delta=delta, runs=runs, confidence=confidence, **options
        )
    except (TypeError, ValueError) as error:  # raised again, so that pytest shows the line above
        message = f"assert_private(): {error}"
        if guessed and isinstance(error, AlwaysRaisesError):
            message += "; no neighbours were given, so 0 and 1 were tried: give two inputs"
        raise (TypeError if isinstance(error, TypeError) else ValueError)(
            message
        ) from error.__cause__
    if not report.private:
        raise AssertionError(str(report))
    return report


def _neighbours(mechanism: Callable[..., Any], x: Any, y: Any) -> tuple[Any, Any]:
    if (x is UNSET) != (y is UNSET):
        raise TypeError("an audit needs two neighbours; give both x and y, or neither")
    if x is not UNSET:
        return x, y
    declared = getattr(mechanism, "neighbours", None)
    if declared is None:
        return 0, 1
    if not isinstance(declared, tuple | list) or len(declared) != 2:
        raise TypeError("the mechanism's neighbours are no pair; give x and y")
    return cast("tuple[Any, Any]", tuple(declared))
