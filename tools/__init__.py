"""Programs of the project that users do not need: stubs, wheels."""
