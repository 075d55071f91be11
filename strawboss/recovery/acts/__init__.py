"""What a look does: note, nudge, close, continue, tell. In every act the key comes first and is durable (spec/1).

`proof` counts looks, `step` writes keys and moves the machines; the others are one act each.
"""
