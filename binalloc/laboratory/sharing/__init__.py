"""This room repeats the experiments of "Scratchpad Sharing in GPUs"."""
