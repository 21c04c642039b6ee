"""A module beside a program, which it imports."""
