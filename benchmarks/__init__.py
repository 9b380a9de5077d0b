"""Benchmarks of prvcore and of its peers; see README.md."""
