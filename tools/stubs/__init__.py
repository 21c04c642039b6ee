"""The program that writes ``stubs/``: what editors and type checkers know of weft.

``python -m tools.stubs`` writes the files, ``python -m tools.stubs --check`` says whether they are
out of date. ``native.pyi`` is written by hand and has what the registry of ops does not tell.
"""
