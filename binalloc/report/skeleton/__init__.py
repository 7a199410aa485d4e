"""Skeletons of launch files, as the files' text and as data."""
