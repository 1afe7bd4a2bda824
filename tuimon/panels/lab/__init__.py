"""The threshold figure: a bench of values to turn, and the pictures that follow from them."""
