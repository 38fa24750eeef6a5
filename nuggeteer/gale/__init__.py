"""GALE: what distillers found, how far annotators agree on it, and nuggets cut from text."""
