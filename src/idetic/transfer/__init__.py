"""Transfer: a whole anchor to a file and back, and the adoption of what other stores exported."""
