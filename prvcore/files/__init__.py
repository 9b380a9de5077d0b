"""Mechanisms and schedules as text: JSON and TOML, and back to the same bits."""
