"""Real sessions against boards, organisers, parties and networks that lie or fail."""
