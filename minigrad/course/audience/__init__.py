"""A room that votes by phone: link.py sends it a notebook's questions, __main__.py serves it and holds its state."""
