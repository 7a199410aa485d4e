"""One thread at a time, followed as far as its values are known: nothing is run, no memory is there."""
