"""Language models as judges: what is asked, of whom, at what price, and where the answers are kept."""
