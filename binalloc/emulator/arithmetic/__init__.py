"""This room computes what one lane computes, bit by bit."""
