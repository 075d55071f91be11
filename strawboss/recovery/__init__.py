"""The core: decides, never does. Nothing here can touch files, sockets, clocks or processes (docs/design.md).

`look` is the road of one look at all runs of a launcher, in order of cost: it yields `commands`, is sent `evidence`, and
asks the machines. A machine is one folder with its conditions, its table, its numbers and its acts, and one line in
`look.MACHINES`; `machine` says what a look must know of it, `proof` holds the rule that all share, found twice in a row.
`facts` are the evidence on one run, `conditions` what machines ask of them alike, `verdict` an answer with its reason;
`keys` is what the launcher's session file says was done, `memory` what one look leaves for the next. Each machine has its
texts in its `messages`, worded by `wording`; the `messages` beside them are of no one machine.
To change when something is done, go to the `conditions` of its machine; how it is done, to the module of its act.
"""
