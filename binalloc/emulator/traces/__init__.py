"""What an emulated run did, cycle by cycle, as a file for trace viewers."""
