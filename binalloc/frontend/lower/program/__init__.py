"""This package lowers whole PTX modules and their functions to Loom."""
