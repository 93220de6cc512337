"""The command line. Each command is a module with `register(app)`; what is heavy is imported when it is needed."""
