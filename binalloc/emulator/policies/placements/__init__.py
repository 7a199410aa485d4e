"""A placement decides where an allocation is placed in an SM's shared memory."""
