"""This package lowers floating-point instructions of 32 and 64 bits."""
