"""pi-intercom as strawboss uses it: who is on it, and one message to one of them."""
