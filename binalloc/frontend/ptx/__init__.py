"""PTX text: lexer, parser and syntax tree. Knows nothing of Loom."""
