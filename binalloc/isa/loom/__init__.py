"""Loom lies behind the instruction interface: its views, its recognisers, and the instructions that rewriting makes."""
