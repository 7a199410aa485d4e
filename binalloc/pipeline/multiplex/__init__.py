"""The use case of the multiplex paper is here: blocks of a kernel use its shared memory in turns."""
