"""Oracles of analyses."""
