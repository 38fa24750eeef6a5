"""GALE: statistics of distillers, agreement of annotators, and nuggets that are cut from text automatically."""
