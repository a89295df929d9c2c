"""Verbs: each is declared once, and every surface is made from its declaration.

`declaration` has the decorator and what it keeps; `arguments` checks what a caller passes;
`authorization` says what a scope may do. The verbs themselves live in the rooms that own them.
"""
