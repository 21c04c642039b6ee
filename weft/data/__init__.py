"""Data: the sets that come with weft."""
