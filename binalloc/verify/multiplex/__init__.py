"""This package proves that blocks which use shared memory in turns, as they run or merged, do what they did."""
