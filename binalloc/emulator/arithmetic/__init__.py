"""What one lane computes, bit by bit."""
