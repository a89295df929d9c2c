"""The console: pages for people over the library, on the HTTP server. No SQL, no rules."""
