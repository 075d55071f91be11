"""The process's side of the extension's protocol; the extension itself lies in `extension/`."""
