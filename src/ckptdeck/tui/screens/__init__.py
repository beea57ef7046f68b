"""Screens: each shows one View and says up what the operator wants."""
