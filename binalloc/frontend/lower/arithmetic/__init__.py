"""This package lowers PTX arithmetic to Loom."""
