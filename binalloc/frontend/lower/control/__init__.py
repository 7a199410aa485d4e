"""This package lowers PTX control flow, calls and warp-wide instructions to Loom."""
