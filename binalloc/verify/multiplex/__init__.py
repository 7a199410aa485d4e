"""This package proves that blocks do the same when they use shared memory in turns, as they run or merged."""
