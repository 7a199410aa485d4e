"""What leaves the registers, and the code that brings it back."""
