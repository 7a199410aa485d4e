"""What buffers and textures hold before a launch: how launch files say it, how it is made, and the files it is read
from."""
