"""What buffers and structs consist of: layouts in memory as C has them, and single values in their places."""
