"""Nuggeteer inside other tools."""
