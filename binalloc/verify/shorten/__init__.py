"""Proofs of the steps that make access regions shorter are here."""
