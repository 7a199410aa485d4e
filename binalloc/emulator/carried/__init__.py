"""An installed package may carry the compiled core; this room says what it must be made from, and finds and calls
it."""
