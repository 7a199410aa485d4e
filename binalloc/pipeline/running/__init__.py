"""Use cases that run a kernel or a program on the emulator, each with the record that it returns."""
