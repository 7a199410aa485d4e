"""Contents of buffers and textures before a launch are described in launch files, made, and read from files here."""
