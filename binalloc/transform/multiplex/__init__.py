"""This package lets thread blocks share an SM's shared memory in turns (the multiplex paper), before allocation.
Modules come from modules."""
