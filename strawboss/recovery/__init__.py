"""The core: decides, never does. Nothing here can touch files, sockets, clocks or processes (docs/design.md)."""
