"""A second opinion on PTX: an interpreter and a program generator that share nothing with the package under test."""
