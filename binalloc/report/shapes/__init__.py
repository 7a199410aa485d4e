"""These are the shapes of all that `--json` prints: a TypedDict for each object, with the meaning beside each field.

JSON.md and json-schema.json are made from them (`doc`). Code that prints imports them for type checking alone.
"""
