"""Benchmarks: every figure is a ratio against a baseline taken in the same run."""
