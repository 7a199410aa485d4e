"""The words in which launch files say how a texture is read."""

from __future__ import annotations

from enum import StrEnum


class TextureFilter(StrEnum):
    """What a fetch gives between texels."""

    POINT = "point"
    LINEAR = "linear"


class AddressMode(StrEnum):
    """What a fetch outside the texture gives."""

    CLAMP = "clamp"
    BORDER = "border"
    WRAP = "wrap"
    MIRROR = "mirror"


class TextureLayers(StrEnum):
    """Whether the first side counts layers, or the faces of cubes; in the order of TEX's modifier."""

    NONE = "none"
    ARRAY = "array"
    CUBE = "cube"


class TextureRead(StrEnum):
    """What a fetch gives of an element."""

    ELEMENT = "element"
    NORMALIZED_FLOAT = "normalized_float"
