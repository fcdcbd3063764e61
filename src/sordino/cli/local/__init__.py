# SPDX-License-Identifier: Apache-2.0
"""`sordino local`: randomize answers, and estimate from the reports alone."""
