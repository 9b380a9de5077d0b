"""Programs that run for as long as one likes: coverage-guided fuzzing, a soak."""
