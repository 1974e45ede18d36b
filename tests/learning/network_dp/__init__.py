"""Tests of tokens that walk from user to user."""
