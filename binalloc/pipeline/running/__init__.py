"""This room has the use cases that run a kernel or a program on the emulator, each with the record it returns."""
