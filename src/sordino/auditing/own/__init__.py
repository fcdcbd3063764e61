# SPDX-License-Identifier: Apache-2.0
"""What `sordino audit` looks at if nothing is named: sordino itself."""

from sordino.auditing.own.mechanisms import Case, cases, function_cases, local_cases
from sordino.auditing.own.plans import plan_cases, plans

__all__ = ["Case", "cases", "function_cases", "local_cases", "plan_cases", "plans"]
