"""Threads, processes, signals, other libraries, random nonsense."""
