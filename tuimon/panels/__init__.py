"""What the screen is made of: each panel draws one thing and is told its state."""
