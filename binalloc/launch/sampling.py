"""Launch files describe with these words how a texture is read."""

from __future__ import annotations

from enum import StrEnum


class TextureFilter(StrEnum):
    """A texture's filter decides the value of a fetch between texels."""

    POINT = "point"  #: the nearest texel
    LINEAR = "linear"  #: interpolated


class AddressMode(StrEnum):
    """An address mode decides the texel of a fetch outside the texture."""

    CLAMP = "clamp"
    BORDER = "border"
    WRAP = "wrap"
    MIRROR = "mirror"


class TextureLayers(StrEnum):
    """A texture may have layers: its first side counts them, or the faces of cubes. The members are in the order of
    TEX's modifier."""

    NONE = "none"
    ARRAY = "array"
    CUBE = "cube"


class TextureRead(StrEnum):
    """A texture's way of reading decides the value of an element that is fetched."""

    ELEMENT = "element"  #: the element as it is
    NORMALIZED_FLOAT = "normalized_float"  #: an integer as a float of [0, 1] or [-1, 1]
