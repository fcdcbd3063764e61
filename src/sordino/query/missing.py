# SPDX-License-Identifier: Apache-2.0
"""What programs and people write where there is no value."""

# R, pandas, SQL, Excel, SPSS and Stata, and those who type by hand.
WORDS = (
    *("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "NULL", "null", "Null", "None", "none"),
    *("NaT", "<NA>", "-", "--", ".", "?", "\\N", "n.a.", "N.A.", "n/d", "k. A.", "k.A."),
)
