"""Widgets: each paints lines of the view model and turns keys and clicks into messages."""
