"""Every message on the bus, one module per owner (`daemon` is what all of them publish and answer).

`registry` lists all tables and requests, and who may call whom.
"""
