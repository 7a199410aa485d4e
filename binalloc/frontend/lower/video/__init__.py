"""This package lowers video instructions: the scalar ones, and those on two or four parts of a word at once."""
