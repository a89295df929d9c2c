"""Memory on the move: a whole anchor as a file and back, and what other stores exported."""
