"""What a user is told of all launchers: what needs a person, what was recovered, what is under way. Pure.

`seen` is one launcher as it was found, `judge` what that means for a person, `report` the same as JSON, `layout` and
`page` its lines, `screen` those of them that are on a screen while somebody watches.
"""
