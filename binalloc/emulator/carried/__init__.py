"""The compiled core that an installed package may carry: what it must be made from, how it is found and called."""
