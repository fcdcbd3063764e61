# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests: how long one case takes depends on the machine and is no failure."""

from hypothesis import settings

settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")
