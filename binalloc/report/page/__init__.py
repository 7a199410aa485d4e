"""This room makes pages for a browser. A page is one file, which needs no network; Vega-Lite draws its charts when it
is opened."""
