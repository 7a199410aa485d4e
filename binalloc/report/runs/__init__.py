"""This room reports emulated runs."""
