"""How fast it is beside public tools, in ratios of one interleaved run: `python -m tests.bench [NAME...]`."""
