"""What a run is to watch and where it is to stop, as users say it, and what is there when it has."""
