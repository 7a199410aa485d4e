"""The shapes of all that `--json` prints: a TypedDict for each object, a line for each field.

JSON.md and json-schema.json are made from them (`doc`). Code that prints imports them for type checking alone.
"""
