"""Helpers that several parts of weft share."""
