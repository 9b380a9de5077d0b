"""Answers against truths: closed forms, exact sums, other accountants' values, the oracle."""
