"""Small sessions, honest and not, as archives, with what the rules find in each."""
