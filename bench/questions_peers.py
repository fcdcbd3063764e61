# SPDX-License-Identifier: Apache-2.0
"""The same question in OpenDP, where it is installed with the polars that it was built for."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.timing import best_of


def opendp_seconds(path: Path) -> str:
    """Return the seconds that OpenDP takes for COUNT and SUM by city, or a dash."""
    if find_spec("opendp") is None or find_spec("polars") is None:
        return "-"
    # optional peers
    dp: Any = import_module("opendp.prelude")
    pl: Any = import_module("polars")
    dp.enable_features("contrib")

    def ask() -> object:
        context = dp.Context.compositor(
            data=pl.scan_parquet(path),
            privacy_unit=dp.unit_of(contributions=4, identifier="user"),
            privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-7),
            split_evenly_over=1,
            margins=[dp.polars.Margin(by=["city"], invariant="keys", max_length=10**8)],
        )
        asked = (
            context.query()
            .truncate_per_group(4)
            .group_by("city")
            .agg(dp.len(), pl.col("amount").fill_null(0).dp.sum((0, 500)))
        )
        return asked.release().collect()

    try:
        return f"{best_of(1, ask)[0]:.2f}"
    except (dp.OpenDPException, TypeError, ValueError):
        return "-"  # it refuses every other version of polars
