"""What the public names take, give, refuse and keep."""
