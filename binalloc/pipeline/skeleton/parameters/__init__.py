"""This room finds where a kernel's parameters go, and how they are used there."""
