"""Looks at everything strawboss stands on, and says for each what to do about it (`examine`)."""
