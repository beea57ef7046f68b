"""One file a subject, each with a `SUBJECT`."""
