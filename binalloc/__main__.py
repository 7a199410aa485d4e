"""Running `python -m binalloc` is the same as the `binalloc` command."""

from binalloc.cli.main import main

if __name__ == "__main__":
    main()
