"""This module has the shapes of the sharing paper's figures and tables beside ours, in `reproduce sharing`."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.says import says


class FigureRowJson(TypedDict):
    """This object is a row of a figure: a kernel, or a machine of a table."""

    row: Annotated[str, says("kernel, by the paper's name; in Tables VIII and XII a configuration")]
    ours: Annotated[list[float | None], says("our values, by `series`; null where there is no run")]
    paper: Annotated[list[float | None], says("the paper's, where its text and tables print them or they follow")]
    note: Annotated[str, says("why a value is missing or is another run's; in Tables VIII and XII the machine")]


class PaperMeanJson(TypedDict):
    """This object is a mean over kernels that the paper has, too."""

    kernels: Annotated[int, says("how many kernels")]
    paper: Annotated[float | None, says("the paper's; null where it prints none, or not all its kernels were run")]


class FigureMeanJson(PaperMeanJson):
    """This object is the mean of a series."""

    series: Annotated[str, says("the series")]
    ours: Annotated[float, says("geometric mean, in per cent")]


class FigureJson(TypedDict):
    """This object is a figure or a table of the sharing paper."""

    figure: Annotated[str, says("its number, `13` to `28`, or `VI`, `VIII`, `XI`, `XII`, `XIII` for tables")]
    title: Annotated[str, says("what it is about")]
    shows: Annotated[str, says("what its values are")]
    series: Annotated[list[str], says("its bars or columns, as the paper names them")]
    rows: Annotated[list[FigureRowJson], says("its rows; empty where nothing of it was run")]
    means: Annotated[list[FigureMeanJson], says("means over its rows; of gains alone")]


class FailedSayingJson(TypedDict):
    """This object is a row for which a sentence of the paper does not hold."""

    row: Annotated[str, says("kernel")]
    left: Annotated[float, says("our value of the left series")]
    right: Annotated[float, says("our value of the right one")]
    why: Annotated[str, says("counters of the left run over those of the right one; empty where there are none")]


class SayingJson(TypedDict):
    """This object is a sentence of the paper on a figure, judged by our runs."""

    figure: Annotated[str, says("number of the figure or table")]
    says: Annotated[str, says("the sentence, in short")]
    left: Annotated[str, says("a series of the figure")]
    relation: Annotated[str, says("`above`, `below`, `about` (within a twentieth) or `equal`")]
    right: Annotated[str, says("another series, `FIGURE/SERIES` of another figure, or `0`")]
    holds: Annotated[list[str], says("kernels for which it holds")]
    fails: Annotated[list[FailedSayingJson], says("kernels for which it does not")]
