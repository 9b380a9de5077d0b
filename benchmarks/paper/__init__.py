"""The figures of the paper, with prvcore's bounds added, and some that it could not draw."""
