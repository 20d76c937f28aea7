"""A reference operator for the edge: HTTPProxy, Gateway, Domain, DNS and policies, as small as it honestly can be.

It stands in where the operator under test is not at hand, and its defects can be switched on by name (`faults`).
"""
