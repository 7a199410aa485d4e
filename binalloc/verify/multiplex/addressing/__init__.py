"""Addresses that inserted words compute, as expressions over the original's registers."""
