"""Elements of buffers and structs have layouts in memory as in C, and single values at their places."""
