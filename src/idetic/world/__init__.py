"""A demo world: stories of two organisations, and the machinery that plays them."""
