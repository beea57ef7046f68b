"""What is true about checkpoint files, and the only code that changes them.

Nothing in here draws, prints, watches or reads a clock: time, processes and the file system come in through
`Host`. Start reading at `publish.py`: it is the rule of the product on one screen.
"""
