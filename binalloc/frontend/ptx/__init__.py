"""This package reads PTX text: lexer, parser and syntax tree. It knows nothing of Loom."""
