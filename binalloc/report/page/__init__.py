"""Pages for a browser: one file each, which needs no network. Vega-Lite draws the charts, where they are looked at."""
