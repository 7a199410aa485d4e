"""This room repeats experiments of papers on emulated machines. No other room imports it, except `cli`."""
