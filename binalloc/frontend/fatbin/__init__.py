"""This package reads PTX from the files that nvcc makes: objects, programs, libraries and fat binaries."""
