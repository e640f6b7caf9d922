"""What the checks add to pytest: tiers of tests, news of a long run, and a second try for a browser."""
