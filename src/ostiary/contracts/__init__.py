"""What things are: frozen dataclasses, small Protocols and the error tree. Standard library only."""
