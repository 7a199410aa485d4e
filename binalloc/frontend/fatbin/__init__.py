"""PTX in what nvcc makes: objects, programs, libraries and fat binaries, read byte by byte."""
