"""Memory for a model, over the Model Context Protocol: tools and resources within one scope.

The scope comes from the connection and is no parameter of anything: an API key, or on this machine
the options of the command. What is told to a model is bounded, and entries are quoted evidence.
"""
