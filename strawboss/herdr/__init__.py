"""herdr, the terminal multiplexer, seen through its socket: its panes, their processes, closing one.

`address` computes where the socket is, `wire` exchanges one line for one line, `replies` decodes it,
`client` is what the rest of strawboss talks to. `command` runs the `herdr` command, only to link the plugin in
`plugin/` (`installation`).
"""
