"""This package writes what an emulated run did, cycle by cycle, as a file for trace viewers."""
