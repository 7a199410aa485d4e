"""This package lowers PTX memory accesses to Loom."""
