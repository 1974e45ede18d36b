"""Who may post what to a board that holds sessions."""
