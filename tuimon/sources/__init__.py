"""The formats that runs come in, one file each; `open_source` picks."""
