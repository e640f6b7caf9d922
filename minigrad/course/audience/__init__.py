"""A room that votes by phone: link.py sends it questions, room.py holds its votes, and __main__.py serves it."""
