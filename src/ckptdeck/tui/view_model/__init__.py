"""What the screens say, computed from a Snapshot without any terminal: lines of text with named inks."""
