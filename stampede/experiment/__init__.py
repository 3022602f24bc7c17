"""What an experiment is, and what several of them share."""
