"""This module has the constants of textures that device code and staging share: columns of the table, handles, address
modes."""

from __future__ import annotations

from binalloc.emulator.state.codes import Codes

MAX_TEXTURES = 64  # textures and surfaces of a launch; their table is an array of the record. Chosen by hand


class TextureColumn(Codes):
    """The table of textures and surfaces has these columns. The modes of the three axes are adjacent, and so are their
    lengths."""

    START: int
    DIMENSIONS: int
    WIDTH: int
    HEIGHT: int
    DEPTH: int
    CHANNELS: int
    BYTES: int
    KIND: int
    FLOAT: int
    LINEAR: int
    NORMALIZED: int
    LAYERS: int  #: how the last axis counts layers, as TEX's modifier has it; 0 where it is a plain axis
    MODE_X: int
    MODE_Y: int
    MODE_Z: int
    LEVELS: int
    BLENDED: int
    BIAS: int  #: bit pattern of an f32
    LEAST: int  #: bit pattern of an f32
    MOST: int  #: bit pattern of an f32
    OF: int
    TYPE: int
    ORDER: int


class Handle(Codes):
    """A handle that a kernel has names a texture, a surface or nothing."""

    NOTHING: int
    TEXTURE: int
    SURFACE: int


HANDLE_BITS = 20  # bits of a handle under .AOFFI; above it come four bits of offset for each axis
TEXTURE_COLUMNS = len(TextureColumn.names)
TEXEL_KINDS = ("u", "i", "f")
TEXEL_SIGNED = TEXEL_KINDS.index("i")


class Outside(Codes):
    """Texels outside of a texture are found in one of these ways. They are the address modes of launch files."""

    CLAMP: int
    BORDER: int
    WRAP: int
    MIRROR: int
