"""This room has the shapes of all that `--json` prints: a TypedDict for each object, with the meaning of each field.

JSON.md and json-schema.json are made from them (`doc.py`). Code that prints imports them for type checking alone.
"""
