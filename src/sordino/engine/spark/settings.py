# SPDX-License-Identifier: Apache-2.0
"""The settings that a session on Spark has, whatever its server prefers, and whether they hold."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from sordino.errors import CatalogError

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

# What a statement means depends on these. Some are what Spark does by itself: a server may have
# been set up otherwise.
SETTINGS = {
    "spark.sql.ansi.enabled": "true",  # whole numbers that do not fit are no others
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.charAsVarchar": "false",
    "spark.sql.readSideCharPadding": "false",  # a unit is not that of another text with spaces
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.crossJoin.enabled": "true",
    "spark.sql.files.ignoreCorruptFiles": "false",  # no rows are left out for what others hold
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.mergeSchema": "true",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.int96AsTimestamp": "true",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",  # the default fails on ancient days
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.aggregatePushdown": "false",  # what a file says of its values may be wrong
    "spark.sql.parquet.recordLevelFilter.enabled": "false",
    "spark.sql.variable.substitute": "false",  # ${...} in a statement is no word of Spark's
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
}
# Settings that bring back what Spark did once. With escaped literals a text could end too early.
_OLD = ("spark.sql.legacy.", "spark.sql.parser.escapedStringLiterals")

# What SQL says of itself; each is true where the settings hold.
_SIGNS = {
    "a sum that does not fit is missing": "try_add(9223372036854775807, 1L) IS NULL",
    "a cast that does not fit is missing": "try_cast('1.5' AS BIGINT) IS NULL",
    "2 ** 63 is no whole number": (
        "try_cast(NULLIF(rint(9223372036854775808D), 9223372036854775808D) AS BIGINT) IS NULL"
    ),
    "halves are rounded to even": "rint(2.5D) = 2D AND rint(3.5D) = 4D AND rint(-0.5D) = 0D",
    "whole numbers have 64 bits": "typeof(CAST(1 AS BIGINT) * 1) = 'bigint'",
    "moments have no zone": (
        "typeof(CAST(TIMESTAMP_LTZ '2000-01-01 00:00:00Z' AS TIMESTAMP_NTZ)) = 'timestamp_ntz' "
        "AND hour(CAST(TIMESTAMP_LTZ '2000-01-01 00:00:00Z' AS TIMESTAMP_NTZ)) = 0"
    ),
    "days go on before 1582": "datediff(DATE '1582-10-15', DATE '1582-10-04') = 11",
    "texts are compared by their bytes": "'a' <> 'A' AND 'a' <> 'a ' AND 'Z' < 'a'",
    "a backslash begins an escape": "length('\\\\') = 1",
    "infinity is no whole number": "try_cast(CAST('Infinity' AS DOUBLE) AS BIGINT) IS NULL",
    "sums have 38 digits": (
        "typeof(CAST(1 AS DECIMAL(38, 0))) = 'decimal(38,0)' AND "
        "try_cast(99999999999999999999999999999999999999BD AS BIGINT) IS NULL"
    ),
}


def settle(session: SparkSession) -> None:
    """Give a session its settings; raises CatalogError if the server does not take them."""
    conf = session.conf
    with warnings.catch_warnings():  # of names that are old, which is why they are taken back
        warnings.simplefilter("ignore", UserWarning)
        for name in conf.getAll:
            if name.startswith(_OLD):
                conf.unset(name)
    for name, value in SETTINGS.items():
        conf.set(name, value)
    held = conf.getAll
    wrong = sorted(name for name, value in SETTINGS.items() if held.get(name) != value)
    wrong += sorted(name for name in held if name.startswith(_OLD))
    if wrong:
        raise CatalogError(f"the Spark server does not take the setting {wrong[0]}")
    columns = ", ".join(f"({sign}) AS s{place}" for place, sign in enumerate(_SIGNS.values()))
    (row,) = session.sql(f"SELECT {columns}").toArrow().to_pylist()
    for sign, holds in zip(_SIGNS, row.values(), strict=True):
        if holds is not True:
            raise CatalogError(f"the Spark server computes otherwise than it should: not {sign}")
