"""The use case `verify`: a rewritten binary against its original, and the record that it returns."""
