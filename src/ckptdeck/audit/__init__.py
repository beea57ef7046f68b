"""Finds code that writes or copies straight to a final name, in source trees of others. Uses nothing of the rest."""
