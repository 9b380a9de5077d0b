"""Budgets of what runs step by step: what has been spent, and what may still be."""

from prvcore.budgets.accountant import Accountant
from prvcore.budgets.filter import PrivacyFilter
from prvcore.budgets.odometer import OdometerReading, PrivacyOdometer

__all__ = ["Accountant", "OdometerReading", "PrivacyFilter", "PrivacyOdometer"]
