"""The shapes that failing runs make, one file per family."""
