# SPDX-License-Identifier: Apache-2.0
"""Ten million rows of a million users in a thousand cities, as Parquet files that are kept."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS, USERS, CITIES = 10_000_000, 1_000_000, 1_000
KINDS = ("dense", "any 64-bit", "text")
SMALL = 10_000
_SEED = 20_26


def folder() -> Path:
    """Return where the files lie; they are written once."""
    place = Path(tempfile.gettempdir()) / f"sordino-bench-{ROWS}-{_SEED}"
    place.mkdir(exist_ok=True)
    return place


def cities() -> list[str]:
    return [f"city {place:04d}" for place in range(CITIES)]


def visits(kind: str) -> Path:
    """Return a file with the columns user, city and amount; users have ids of a kind."""
    path = folder() / f"{kind.replace(' ', '-')}.parquet"
    if not path.exists():
        for name, table in zip(KINDS, _tables(), strict=True):
            _write(table, folder() / f"{name.replace(' ', '-')}.parquet")
    return path


def numbers() -> Path:
    """Return a file with a column of ten million doubles."""
    path = folder() / "numbers.parquet"
    if not path.exists():
        drawn = np.random.default_rng(_SEED).gamma(2, 10_000, ROWS)
        _write(pa.table({"x": drawn}), path)
    return path


def _write(table: pa.Table, path: Path) -> None:
    partial = path.with_suffix(".partial")
    pq.write_table(table, partial)
    partial.rename(path)


def _tables() -> list[pa.Table]:
    generator = np.random.default_rng(_SEED)
    weights = generator.pareto(2.0, USERS) + 0.3  # a few users have very many rows
    many = generator.multinomial(ROWS, weights / weights.sum())
    users = np.repeat(np.arange(USERS), many)
    generator.shuffle(users)
    shares = 1 / np.arange(1, CITIES + 1) ** 0.7
    places = generator.choice(CITIES, ROWS, p=shares / shares.sum()).astype(np.int32)
    names = pa.DictionaryArray.from_arrays(pa.array(places), pa.array(cities()))
    table = pa.table({"city": names.cast(pa.string()), "amount": generator.integers(0, 500, ROWS)})
    codes = generator.permutation(USERS) * 9_007_199_254_740_993 % (2**63 - 25)
    texts = pa.array([f"user-{code:019d}" for code in codes.tolist()])
    ids = (pa.array(users), pa.array(codes[users]), texts.take(pa.array(users)))
    return [table.append_column("user", column) for column in ids]
