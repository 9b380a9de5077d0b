"""README, documentation and benchmarks say and do what the code does."""
